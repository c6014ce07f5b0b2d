import { mkdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { packTar } from 'modern-tar';

const script = `#!/bin/sh
set -eu
case $1 in --version) echo mmdebstrap 1.0; exit ;; esac
for word in "$@"; do
  case $word in --simulate)
    echo simulate >> "$NOTES/calls"
    sed 's/\\(.*\\) \\(.*\\)/Inst \\1 (\\2 Debian [amd64])/' "$NOTES/offered" >&2
    exit
  esac
done
echo "make $SOURCE_DATE_EPOCH $*" >> "$NOTES/calls"
if [ -e "$NOTES/broken" ]; then echo 'I: working' >&2; echo 'E: no such package' >&2; head -c 700 "$NOTES/root.tar"; exit 25; fi
if [ -e "$NOTES/slow" ]; then
  (trap ': > "$NOTES/helper-asked"; exit' TERM; : > "$NOTES/helper"; while :; do sleep 0.05; done) > /dev/null 2>&1 &
  trap 'exec >&- 2>&-; wait; rmdir "$NOTES/root"; exit 143' TERM
  while [ ! -e "$NOTES/helper" ]; do sleep 0.05; done
  mkdir "$NOTES/root"
  head -c 700 "$NOTES/root.tar"
  while :; do sleep 0.05; done
fi
cp "$NOTES/offered" "$BOSH_KUBERNETES_PACKAGES"
cat "$NOTES/root.tar"
`;

/**
 * Creates a fake mmdebstrap and returns the environment that selects it. It offers the packages in
 * `directory`'s file `offered`, returns the root in `root.tar`, and records its calls. If a file `broken`
 * exists it fails; if a file `slow` exists it works until it is interrupted.
 */
export async function fakeMmdebstrap(directory: string): Promise<{ PATH: string; NOTES: string }> {
  const bin = join(directory, 'bin');
  await mkdir(bin);
  await writeFile(join(bin, 'mmdebstrap'), script, { mode: 0o755 });
  const root = await packTar([{ header: { name: './etc/debian_version', size: 2 }, body: '12' }]);
  await writeFile(join(directory, 'root.tar'), root);
  await writeFile(join(directory, 'offered'), 'bash 5.2\nvim 9.0\n');
  return { PATH: `${bin}${delimiter}${process.env['PATH']}`, NOTES: directory };
}
