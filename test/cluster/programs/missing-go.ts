import { spawnSync } from 'node:child_process';
import { parse } from 'node:path';
import { oldestGo } from './pins.ts';

/** From this one on Go fetches the version that a module asks for, where GOTOOLCHAIN lets it (go.dev/doc/toolchain). */
const fetching = '1.21';

/** The Go that the programs cannot be built without, and what to do for it; undefined where it is there or Go can fetch it. */
export function missingGo(environment: NodeJS.ProcessEnv = process.env): string | undefined {
  const wanted = `Go ${oldestGo} or newer`;
  const found = parseGoVersion(ask(['version'], environment));
  if (found === undefined) return `${wanted} (https://go.dev/dl)`;
  if (!isOlder(found, oldestGo)) return undefined;
  if (isOlder(found, fetching)) return `${wanted} (https://go.dev/dl; on PATH is ${found})`;
  const setting = ask(['env', 'GOTOOLCHAIN'], environment).trim();
  if (/(?:^|\+)(?:auto|path)$/u.test(setting)) return undefined;
  return `${wanted} (https://go.dev/dl; on PATH is ${found}, which fetches it with GOTOOLCHAIN=auto)`;
}

/** `1.26` of what `go version` prints; undefined for anything else. */
export function parseGoVersion(printed: string): string | undefined {
  return /^go version (?:devel )?go(\d+\.\d+)/u.exec(printed)?.[1];
}

function isOlder(version: string, than: string): boolean {
  const [[major = 0, minor = 0], [thanMajor = 0, thanMinor = 0]] = [version, than].map((text) =>
    text.split('.').map(Number),
  ) as [number[], number[]];
  return major < thanMajor || (major === thanMajor && minor < thanMinor);
}

/** What Go prints outside of any module, whose go.mod would make it another version; nothing where there is no Go. */
function ask(words: readonly string[], environment: NodeJS.ProcessEnv): string {
  const { root } = parse(import.meta.dirname);
  const env = { ...environment, GOWORK: 'off' };
  const { status, stdout } = spawnSync('go', words, { cwd: root, env, encoding: 'utf8' });
  return status === 0 ? stdout : '';
}
