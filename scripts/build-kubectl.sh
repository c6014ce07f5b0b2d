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
stamp=k8s.io/component-base/version
go build -trimpath -ldflags "-s -w -X $stamp.gitVersion=v$version -X $stamp.gitMajor=${version%%.*} -X $stamp.gitMinor=$(echo "$version" | cut -d. -f2)" \
  -o kubectl k8s.io/kubernetes/cmd/kubectl
mkdir -p "$(dirname "$out")"
mv kubectl "$out"
