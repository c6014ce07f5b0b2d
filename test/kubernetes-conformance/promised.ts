import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The files of promises, and what the digest file beside them says of each. */
export interface Promised {
  /** All tests, by their full names. */
  readonly names: readonly string[];
  /** The files that are not as they were promised, one sentence each; empty when no promise was taken back. */
  readonly broken: readonly string[];
}

const digests = 'SHA256SUMS';

/**
 * Reads a folder of promises. SHA256SUMS has the digest of each file, so that no name goes unnoticed: a name goes only when
 * the server no longer serves what its test needs, and then with a new digest. Throws for a name that stands there twice.
 */
export async function readPromised(directory: string): Promise<Promised> {
  const files = (await readdir(directory)).filter((name) => name.endsWith('.txt')).toSorted();
  const contents = await Promise.all(files.map((name) => readFile(join(directory, name), 'utf8')));
  const wanted = parseDigests(await readFile(join(directory, digests), 'utf8'));
  const found = new Map(files.map((name, index) => [name, digestOf(contents[index] ?? '')]));
  return { names: parsePromised(contents.join('\n')), broken: compareDigests(wanted, found) };
}

/** The names in a text: a test per line, `#` starts a comment. Throws for a name that stands there twice. */
export function parsePromised(text: string): string[] {
  const names = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) throw new Error(`a test is promised twice: ${twice}`);
  return names;
}

/** As sha256sum prints them. */
function parseDigests(text: string): Map<string, string> {
  const lines = text.split('\n').filter((line) => line !== '');
  return new Map(lines.map((line) => [line.slice(66), line.slice(0, 64)]));
}

/** Where files are not what their digests say, one sentence each. Pure. */
export function compareDigests(
  wanted: ReadonlyMap<string, string>,
  found: ReadonlyMap<string, string>,
): string[] {
  const names = [...new Set([...wanted.keys(), ...found.keys()])].toSorted();
  return names.flatMap((name) => {
    const [want, is] = [wanted.get(name), found.get(name)];
    if (want === is) return [];
    if (want === undefined) return [`${name} has no digest in ${digests}`];
    return is === undefined
      ? [`${name} is gone`]
      : [`${name} was changed: if that is meant, write its digest into ${digests} (sha256sum *.txt)`];
  });
}

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');
