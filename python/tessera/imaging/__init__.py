# SPDX-License-Identifier: Apache-2.0
"""Imaging: phantoms with exact data, trajectories, coils, reconstructions and measures of images, made of named
operators. Nothing below this package knows of it.

>>> scan = ts.imaging.shepp_logan().kspace(ts.imaging.radial(9, 32, 16), (16, 16))
>>> scan.shape, scan.dtype
((9, 32), dtype('complex128'))
"""

from .._checked import check_arguments as _check_arguments
from ._automatic import noise_level
from ._calibration import Calibration
from ._coils import Coils, compress_coils, root_sum_of_squares, whitening
from ._combining import adaptive_combine, compress_coils_geometrically
from ._delays import delayed, gradient_delays
from ._dicom import load_dicom, save_dicom
from ._dynamic import llr_dynamic, low_rank_blocks
from ._espirit import espirit
from ._files import load_cfl, save_cfl
from ._grappa import grappa
from ._image_files import load_image, save_image
from ._ismrmrd import Scan, load_ismrmrd
from ._ismrmrd_write import save_ismrmrd
from ._joint_maps import joint_maps
from ._maps import adaptive_maps
from ._metrics import nrmse, psnr, ssim
from ._motion import motion_operator, motion_sense, rigid
from ._multislice import multislice, multislice_operator
from ._nifti import load_nifti, save_nifti
from ._partial_fourier import conjugate_symmetry, pocs
from ._phantoms import Phantom, shepp_logan
from ._pictures import save_png
from ._recipes import Reconstruction, l1_wavelet, sense, sense_operator, tv
from ._recon import recon
from ._spread import spread
from ._subspace import subspace, subspace_basis, subspace_operator
from ._tgv import tgv, tgv_terms
from ._tomography import Iterations, fbp_operator, fdk, os_sart, ramp_filter, sirt, tv_ct
from ._trajectories import (
    GOLDEN_ANGLE,
    cones,
    epi,
    kooshball,
    poisson_disc,
    radial,
    rosette,
    spiral,
    stack_of_stars,
)
from ._view import view
from ._zarr_images import load_zarr, save_zarr

__all__ = [
    "GOLDEN_ANGLE",
    "Calibration",
    "Coils",
    "Iterations",
    "Phantom",
    "Reconstruction",
    "Scan",
    "adaptive_combine",
    "adaptive_maps",
    "compress_coils",
    "compress_coils_geometrically",
    "cones",
    "conjugate_symmetry",
    "delayed",
    "epi",
    "espirit",
    "fbp_operator",
    "fdk",
    "gradient_delays",
    "grappa",
    "joint_maps",
    "kooshball",
    "l1_wavelet",
    "llr_dynamic",
    "load_cfl",
    "load_dicom",
    "load_image",
    "load_ismrmrd",
    "load_nifti",
    "load_zarr",
    "low_rank_blocks",
    "motion_operator",
    "motion_sense",
    "multislice",
    "multislice_operator",
    "noise_level",
    "nrmse",
    "os_sart",
    "pocs",
    "poisson_disc",
    "psnr",
    "radial",
    "ramp_filter",
    "recon",
    "rigid",
    "root_sum_of_squares",
    "rosette",
    "save_cfl",
    "save_dicom",
    "save_image",
    "save_ismrmrd",
    "save_nifti",
    "save_png",
    "save_zarr",
    "sense",
    "sense_operator",
    "shepp_logan",
    "sirt",
    "spiral",
    "spread",
    "ssim",
    "stack_of_stars",
    "subspace",
    "subspace_basis",
    "subspace_operator",
    "tgv",
    "tgv_terms",
    "tv",
    "tv_ct",
    "view",
    "whitening",
]

_check_arguments(globals(), __all__)
