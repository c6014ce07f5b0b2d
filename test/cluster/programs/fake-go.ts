import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

interface GoInstallation {
  readonly version: string;
  /** Its setting of GOTOOLCHAIN. */
  readonly toolchain: string;
}

/**
 * Returns the environment in which `go` is a program in `directory` that prints its version and builds
 * nothing.
 */
export async function fakeGo(
  directory: string,
  { version, toolchain }: GoInstallation,
): Promise<{ readonly PATH: string }> {
  const script = `#!/bin/sh
case "$*" in
  version) echo 'go version go${version} linux/amd64' ;;
  'env GOTOOLCHAIN') echo '${toolchain}' ;;
  *) exit 2 ;;
esac
`;
  await writeFile(join(directory, 'go'), script, { mode: 0o755 });
  return { PATH: `${directory}:/usr/bin:/bin` };
}
