#!/usr/bin/env bash
# Builds an unmodified kubectl from the Go module k8s.io/kubernetes into the file given, for machines without one.
# The staging modules have versions of their own, and a dependency's `replace` lines do not count: they are repeated here.
set -euo pipefail
out=$(realpath -m "$1")
version=${KUBECTL_VERSION:-1.36.3}
[ -x "$out" ] && "$out" version --client 2>/dev/null | grep -q "v$version" && exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat > go.mod <<MOD
module kubectl-from-modules

go 1.26.0

require k8s.io/kubernetes v$version
MOD
cat > tools.go <<'GO'
//go:build tools

package tools

import _ "k8s.io/kubernetes/cmd/kubectl"
GO
upstream=$(go mod download -json "k8s.io/kubernetes@v$version" | sed -nE 's/.*"GoMod": "(.*)",?/\1/p')
sed -n '/^replace (/,/^)/p' "$upstream" |
  sed -nE "s#^\t(k8s.io/[a-z0-9-]+) => \./staging.*#replace \1 => \1 v0.${version#*.}#p" >> go.mod
go mod tidy
# The version is stamped twice, as upstream's build does: for `kubectl version`, and for the User-Agent that a server sees.
flags='-s -w'
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
  flags+=" -X $package.gitVersion=v$version -X $package.gitMajor=${version%%.*} -X $package.gitMinor=$(echo "$version" | cut -d. -f2)"
done
go build -trimpath -ldflags "$flags" -o kubectl k8s.io/kubernetes/cmd/kubectl
mkdir -p "$(dirname "$out")"
mv kubectl "$out"
