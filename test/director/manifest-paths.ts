import { isObject } from '../../src/platform/json.ts';

/** A document of which only the keys are compared. Its leaves are strings. */
export type Tree = string | readonly Tree[] | { readonly [key: string]: Tree };

/**
 * Returns the paths of all leaves as in ops files: an entry of a list by its name or alias, otherwise by its
 * index.
 */
export function pathsOf(node: unknown, at = ''): string[] {
  if (Array.isArray(node))
    return node.flatMap((item, index) => pathsOf(item, `${at}/${tokenOf(item, index)}`));
  if (!isObject(node)) return [at];
  return Object.entries(node).flatMap(([key, value]) => pathsOf(value, `${at}/${key}`));
}

/**
 * Returns a document with exactly these paths. Each leaf is its own path; a name or alias has its value in
 * the path.
 */
export function treeOf(paths: readonly string[]): Tree {
  const [only = ''] = paths;
  if (only === '') return '';
  return subtree(
    paths.map((path) => path.split('/').slice(1)),
    '',
  );
}

/** Returns the operations of an ops file that changes `before` to `after`. */
export function operationsBetween(before: Tree, after: Tree, at = ''): object[] {
  if (typeof before === 'string' || typeof after === 'string') return [];
  if (Array.isArray(before) && Array.isArray(after)) {
    const known = new Map(before.map((item, index) => [tokenOf(item, index), item]));
    const kept = new Set(after.map(tokenOf));
    // from the last one, because a removal changes the indexes behind it
    const removed = [...known.keys()].filter((token) => !kept.has(token)).toReversed();
    return [
      ...removed.map((token) => ({ type: 'remove', path: `${at}/${token}` })),
      ...after.flatMap((item, index) => {
        const token = tokenOf(item, index);
        const previous = known.get(token);
        return previous === undefined
          ? [{ type: 'replace', path: `${at}/-`, value: item }]
          : operationsBetween(previous, item, `${at}/${token}`);
      }),
    ];
  }
  const [old, now] = [before, after] as readonly Readonly<Record<string, Tree>>[];
  if (old === undefined || now === undefined) return [];
  const removed = Object.keys(old).filter((key) => !(key in now));
  return [
    ...removed.map((key) => ({ type: 'remove', path: `${at}/${key}` })),
    ...Object.entries(now).flatMap(([key, value]) => {
      const previous = old[key];
      return previous === undefined
        ? [{ type: 'replace', path: `${at}/${key}?`, value }]
        : operationsBetween(previous, value, `${at}/${key}`);
    }),
  ];
}

/** Keys by which ops files select an entry of a list. */
const keys = ['name', 'alias'];

function tokenOf(item: unknown, index: number): string {
  for (const key of isObject(item) ? keys : []) {
    const { [key]: value } = item as Readonly<Record<string, unknown>>;
    if (typeof value === 'string') return `${key}=${value}`;
  }
  return String(index);
}

function subtree(paths: readonly (readonly string[])[], at: string): Tree {
  const byKey = Map.groupBy(paths, ([key = '']) => key);
  const isList = [...byKey.keys()].every((key) => /^(?:\d+|(?:name|alias)=.*)$/u.test(key));
  const values = [...byKey].map(([key, group]): [string, Tree] => {
    const rest = group.map(([, ...more]) => more).filter((more) => more.length > 0);
    return [key, rest.length === 0 ? leaf(at, key) : subtree(rest, `${at}/${key}`)];
  });
  return isList ? values.map(([, value]) => value) : Object.fromEntries(values);
}

function leaf(at: string, key: string): string {
  const [, selector, value = ''] = /\/(name|alias)=([^/]*)$/u.exec(at) ?? [];
  return key === selector ? value : `${at}/${key}`;
}
