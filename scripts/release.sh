#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: release.sh [--dry-run] [--no-tests]: a release of the version in CMakeLists.txt: checks, tests (.ci/run), wheel, documentation,
# notes (the part "Unreleased" of CHANGELOG.md), then one commit that dates the notes, and a tag. All of it lies in build/releases; nothing
# is pushed: the last lines say how. --dry-run looks at everything and does nothing; --no-tests is for a state that CI has tested.
. "$(dirname "$0")/common.sh"
dry=
tests=yes
for argument in "$@"; do
  case $argument in
    --dry-run) dry=yes ;;
    --no-tests) tests= ;;
    *) sed -n 's/^# usage: /usage: /p' "$0"; exit 2 ;;
  esac
done
fail() { echo "release.sh: $*" >&2; exit 1; }
# do_it COMMAND...: runs it, or says that it would.
do_it() {
  if [ -n "$dry" ]; then echo "would run: $*"; else "$@"; fi
}

version=$(sed -n 's/^project(tessera VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "CMakeLists.txt has no version of three numbers"
tag=v$version
say "release of $version"
if [ -n "$(git status --porcelain)" ]; then fail "there are changes that are not committed"; fi
if git rev-parse -q --verify "refs/tags/$tag" >/dev/null; then fail "$tag is there already: raise the version in CMakeLists.txt"; fi
branch=$(git branch --show-current)
if [ "$branch" != main ]; then fail "releases are made on main, this is ${branch:-no branch}"; fi
previous=$(git tag --list 'v[0-9]*' --sort=-v:refname | head -n 1)
if [ -n "$previous" ] && [ "$(printf '%s\n' "${previous#v}" "$version" | sort -V | tail -n 1)" != "$version" ]; then
  fail "$version does not come after $previous"
fi
notes_text=$(awk '/^## / {on = ($0 == "## Unreleased"); next} on' CHANGELOG.md)
if [ -z "${notes_text//[[:space:]]/}" ]; then fail "CHANGELOG.md has nothing under '## Unreleased'"; fi

folder=$ROOT/build/releases/$tag
say "notes ($(printf '%s\n' "$notes_text" | grep -c '^- ') points)"
if [ -n "$dry" ]; then
  printf '%s\n' "$notes_text" | sed -n 1,12p
else
  rm -rf "$folder"
  mkdir -p "$folder"
  printf '# Tessera %s\n%s\n' "$version" "$notes_text" >"$folder/notes.md"
fi
if [ -n "$tests" ]; then
  say "tests"
  do_it .ci/run
fi
say "wheel"
do_it make --no-print-directory wheel
if [ -z "$dry" ]; then
  shopt -s nullglob
  made=(build/wheels/*.whl build/wheels/*.tar.gz)
  if [ ${#made[@]} -lt 2 ]; then fail "build/wheels holds no wheel and sdist"; fi
  cp "${made[@]}" "$folder"
  for bill in build/wheels/*.cdx.json; do cp "$bill" "$folder/sbom-$(basename "$bill")"; done
fi
if grep -q '^docs:' Makefile; then
  say "documentation"
  do_it make --no-print-directory docs
  if [ -z "$dry" ] && [ -d build/docs ]; then tar -czf "$folder/tessera-docs-$version.tar.gz" -C build docs; fi
fi
say "commit and tag"
do_it sed -i "s/^## Unreleased\$/## Unreleased\n\n## $version - $(date -u +%Y-%m-%d)/" CHANGELOG.md
do_it git commit -q -m "release: $version" CHANGELOG.md
do_it git tag -a "$tag" --cleanup=whitespace -F "$folder/notes.md"
if [ -z "$dry" ]; then
  (cd "$folder" && sha256sum -- * >SHA256SUMS)
  ls -l "$folder"
fi
say "$([ -n "$dry" ] && echo "all is well; a release would end with" || echo "made; now")"
echo "git push origin main $tag"
echo "python -m twine upload $folder/tessera_linops-$version*"
