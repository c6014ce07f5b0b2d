import { spawnSync } from 'node:child_process';
import { parse } from 'node:path';
import { oldestGo } from './programs.ts';

/**
 * From this version on Go downloads the version that a module requires, if GOTOOLCHAIN permits it
 * (go.dev/doc/toolchain).
 */
const fetching = '1.21';

/**
 * Returns which Go version is missing and what to do about it. Returns undefined if it is installed or Go can
 * download it.
 */
export function missingGo(environment: NodeJS.ProcessEnv = process.env): string | undefined {
  const requirement = `Go ${oldestGo} or newer`;
  const found = parseGoVersion(ask(['version'], environment));
  if (found === undefined) return `${requirement} (https://go.dev/dl)`;
  if (!isOlder(found, oldestGo)) return undefined;
  if (isOlder(found, fetching)) return `${requirement} (https://go.dev/dl; on PATH is ${found})`;
  const setting = ask(['env', 'GOTOOLCHAIN'], environment).trim();
  if (/(?:^|\+)(?:auto|path)$/u.test(setting)) return undefined;
  return `${requirement} (https://go.dev/dl; on PATH is ${found}, which fetches it with GOTOOLCHAIN=auto)`;
}

/** Returns for example `1.26` from the output of `go version`, or undefined for any other text. */
export function parseGoVersion(printed: string): string | undefined {
  return /^go version (?:devel )?go(\d+\.\d+)/u.exec(printed)?.[1];
}

function isOlder(version: string, than: string): boolean {
  const [[major = 0, minor = 0], [thanMajor = 0, thanMinor = 0]] = [version, than].map((text) =>
    text.split('.').map(Number),
  ) as [number[], number[]];
  return major < thanMajor || (major === thanMajor && minor < thanMinor);
}

/**
 * Returns what Go prints outside of any module, because a go.mod could select another version. Returns an
 * empty text without Go.
 */
function ask(args: readonly string[], environment: NodeJS.ProcessEnv): string {
  const { root } = parse(import.meta.dirname);
  const env = { ...environment, GOWORK: 'off' };
  const { status, stdout } = spawnSync('go', args, { cwd: root, env, encoding: 'utf8' });
  return status === 0 ? stdout : '';
}
