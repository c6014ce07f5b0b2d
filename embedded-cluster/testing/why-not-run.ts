import { spawnSync } from 'node:child_process';

/**
 * Returns the reason why a test file cannot run with this command prefix, which sets a user or namespaces:
 * the kernel does not allow it, or the user may not enter a parent directory of this checkout, for example
 * root's home. Undefined: it can run.
 */
export function whyNotRun(prefix: readonly string[], file: string): string | undefined {
  const [program = '', ...args] = prefix;
  const script = 'test -x "$0" && test -r "$1" || { echo "may not read $1" >&2; exit 1; }';
  const argv = ['/bin/sh', '-c', script, process.execPath, file];
  const { status, stderr, error } = spawnSync(program, [...args, ...argv], { encoding: 'utf8', cwd: '/' });
  return status === 0 ? undefined : `needs ${prefix.join(' ')}: ${error?.message ?? stderr.trim()}`;
}
