import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject, parseJson } from '../json.ts';
import type { CniPaths } from './arguments.ts';
import { removeDurable, writeAtomic } from './durable.ts';
import { isSystemError } from './system-error.ts';

/** In the folder of the plugins; no runtime looks for it. */
const record = '.static-ip-choice';

/** Keeps on the node which network, plugin and namespaces an installer was told to take, for a probe that is not told. */
export async function saveOptions(place: CniPaths): Promise<void> {
  const { binDirectory, conflist, plugin, namespaces } = place;
  const isTold = [conflist, plugin, namespaces].some((each) => each !== undefined);
  const text = isTold ? JSON.stringify({ conflist, plugin, namespaces }) : undefined;
  if (text === (await recorded(binDirectory))) return;
  if (text === undefined) await deleteOptions(place);
  else await writeAtomic(binDirectory, record, text, 0o644);
}

/** The place with what the last installer was told, where this one says nothing: a probe has no arguments of its own. */
export async function withSavedOptions(place: CniPaths): Promise<CniPaths> {
  const value = parseJson((await recorded(place.binDirectory)) ?? '');
  const { conflist, plugin, namespaces } = isObject(value) ? value : {};
  return {
    ...place,
    conflist: place.conflist ?? textOf(conflist),
    plugin: place.plugin ?? textOf(plugin),
    namespaces: place.namespaces ?? textsOf(namespaces),
  };
}

/** With the plugin goes what was chosen. */
export function deleteOptions({ binDirectory }: CniPaths): Promise<void> {
  return removeDurable(binDirectory, record);
}

async function recorded(directory: string): Promise<string | undefined> {
  try {
    return await readFile(join(directory, record), 'utf8');
  } catch (error) {
    if (isSystemError(error) && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

const textsOf = (value: unknown): readonly string[] | undefined =>
  Array.isArray(value) ? value.filter((each) => typeof each === 'string') : undefined;

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
