import { spawnSync } from 'node:child_process';

/**
 * Why a test file cannot run behind that prefix of words, which name a user or namespaces: the kernel does not let us, or a
 * folder above this checkout, root's home say, does not let that user in. Undefined: it can.
 */
export function whyNotRun(prefix: readonly string[], file: string): string | undefined {
  const [program = '', ...args] = prefix;
  const script = 'test -x "$0" && test -r "$1" || { echo "may not read $1" >&2; exit 1; }';
  const words = ['/bin/sh', '-c', script, process.execPath, file];
  const { status, stderr, error } = spawnSync(program, [...args, ...words], { encoding: 'utf8', cwd: '/' });
  return status === 0 ? undefined : `needs ${prefix.join(' ')}: ${error?.message ?? stderr.trim()}`;
}
