import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { isProductError } from '../../src/errors/product-error.ts';

/** One `##` section of a page: the names in its tables, and its YAML examples. */
export interface Section {
  /** Code words of the first column of each table row, with the whole row. */
  readonly rows: ReadonlyMap<string, string>;
  readonly examples: readonly unknown[];
}

/** Returns the sections of all pages in docs/cpi by their headings, which differ. */
export async function cpiSections(): Promise<Map<string, Section>> {
  const directory = join(import.meta.dirname, '../../docs/cpi');
  const pages = (await readdir(directory)).filter((name) => name.endsWith('.md'));
  const sections = await Promise.all(
    pages.map(async (name) => [...sectionsOf(await readFile(join(directory, name), 'utf8'))]),
  );
  const all = new Map(sections.flat());
  assert.equal(all.size, sections.flat().length, 'two pages of docs/cpi have a section of the same name');
  return all;
}

const root = join(import.meta.dirname, '../..');

/** Returns the code words in the column of that heading, in all tables of the pages in a folder. */
export async function namesInColumn(folder: string, heading: string): Promise<string[]> {
  const tables = (await pagesBelow(folder)).flatMap((text) => text.match(/(?:^\|.*\n)+/gmu) ?? []);
  return tables.flatMap((table) => {
    const [head = [], ...rows] = table.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
    const column = head.indexOf(heading);
    return column === -1 ? [] : rows.flatMap((row) => wordsOf(row[column] ?? ''));
  });
}

/** Returns the code words of all pages below a folder, without those whose path `except` matches. */
export async function codeWords(folder: string, except: RegExp): Promise<string[]> {
  return (await pagesBelow(folder, except)).flatMap((text) =>
    wordsOf(text.replaceAll(/^```.*?^```$/gmsu, '')),
  );
}

const wordsOf = (text: string): string[] => [...text.matchAll(/`([^`\n]+)`/gu)].map(([, word = '']) => word);

async function pagesBelow(folder: string, except?: RegExp): Promise<string[]> {
  const paths = globSync(`${folder}/**/*.md`, { cwd: root }).filter((path) => except?.test(path) !== true);
  return Promise.all(paths.map((path) => readFile(join(root, path), 'utf8')));
}

/** Returns the sections of a Markdown page by their headings; subsections belong to their section. */
function sectionsOf(page: string): Map<string, Section> {
  const sections = page.split(/^## /mu).slice(1);
  return new Map(
    sections.map((text) => {
      const heading = text.slice(0, text.indexOf('\n')).trim();
      return [heading, { rows: rowsOf(text), examples: examplesOf(text) }] as const;
    }),
  );
}

function rowsOf(text: string): Map<string, string> {
  const rows = text.split('\n').filter((line) => line.startsWith('| `'));
  return new Map(
    rows.flatMap((row) => {
      const [, first = ''] = row.split('|');
      return [...first.matchAll(/`([^`]+)`/gu)].map(([, name = '']) => [name, row] as const);
    }),
  );
}

function examplesOf(text: string): unknown[] {
  return [...text.matchAll(/^```yaml\n(.*?)^```$/gmsu)].map(([, yaml = '']) => parse(whole(yaml)) as unknown);
}

/** Replaces the dots that pages show in place of certificates and keys by the shortest valid body. */
const whole = (yaml: string): string =>
  yaml.replaceAll(/"-----BEGIN ([A-Z ]+)-----\.\.\."/gu, '"-----BEGIN $1-----\\nMAA=\\n-----END $1-----"');

/** Returns all values of a key at any depth of the examples, `cloud_properties` for instance. */
export function valuesOf(key: string, value: unknown): unknown[] {
  if (Array.isArray(value)) return value.flatMap((item) => valuesOf(key, item));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) => [
    ...(name === key ? [item as unknown] : []),
    ...valuesOf(key, item),
  ]);
}

/** Returns true for a key that an example uses. */
const isShown = (key: string, examples: readonly unknown[]): boolean =>
  examples.some((example) => valuesOf(key, example).length > 0);

const surprise = 'no-parser-knows-this';

/**
 * Returns the keys that a parser accepts, by its own error: it names them when it rejects another key.
 * Undefined if it rejects no key: a map with names of the user, or not a map at all.
 */
export function knownKeys(parser: (value: unknown) => unknown): string[] | undefined {
  try {
    parser({ [surprise]: 1 });
    return undefined;
  } catch (error) {
    assert.ok(isProductError(error), String(error));
    const known = /\((?:known are (.*?)|none is known)\)/u.exec(error.message);
    if (known === null || !error.message.includes(`"${surprise}"`)) return undefined;
    return known[1]?.split(', ') ?? [];
  }
}

/**
 * Compares a section with a parser: the same keys, each with an example, and the keys inside a key (an
 * object, or a list of objects) in its row.
 */
export function assertDocumented(
  { rows, examples }: Section,
  parser: (value: unknown) => unknown,
  more: readonly string[] = [],
): void {
  const keys = [...(knownKeys(parser) ?? []), ...more];
  assert.deepEqual([...rows.keys()].toSorted(), keys.toSorted());
  for (const key of keys) {
    assert.ok(isShown(key, examples), `no example shows ${key}`);
    for (const wrap of [(value: unknown) => value, (value: unknown) => [value]]) {
      const inner = knownKeys((value) => parser({ [key]: wrap(value) })) ?? [];
      for (const name of inner) assert.match(rows.get(key) ?? '', new RegExp(`\\b${name}\\b`, 'u'), key);
    }
  }
}
