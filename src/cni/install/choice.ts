import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject, parseJson } from '../json.ts';
import type { CniPaths } from './arguments.ts';
import { removeDurable, writeAtomic } from './durable.ts';
import { isSystemError } from './system-error.ts';

/** A file in the directory of the plugins; runtimes ignore it. */
const record = '.static-ip-choice';

/**
 * Records on the node the options of an installer (network, plugin, namespaces), for a probe that has no
 * arguments.
 */
export async function saveOptions(place: CniPaths): Promise<void> {
  const { binDirectory, conflist, plugin, namespaces } = place;
  const isTold = [conflist, plugin, namespaces].some((each) => each !== undefined);
  const text = isTold ? JSON.stringify({ conflist, plugin, namespaces }) : undefined;
  if (text === (await recorded(binDirectory))) return;
  if (text === undefined) await deleteOptions(place);
  else await writeAtomic(binDirectory, record, text, 0o644);
}

/**
 * Adds the options of the last installer for those that are not given: a probe has no arguments of its own.
 */
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

/** Removes the record. Called when the plugin is removed. */
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
