import { isDeepStrictEqual } from 'node:util';
import { describeKind, lookUp, scalar, toValue } from '../yaml/yaml-node.ts';
import type { ListNode, MapNode, YamlNode } from '../yaml/yaml-node.ts';
import { pathPrefix } from './patch-path.ts';
import type { Modifier, PathToken } from './patch-path.ts';

export type Operation = { readonly path: string; readonly tokens: readonly PathToken[] } & (
  | { readonly type: 'replace'; readonly value: YamlNode }
  | { readonly type: 'remove' }
  | { readonly type: 'test'; readonly value: YamlNode | undefined }
);

/** An operation that cannot be applied to the document. */
export class OperationError extends Error {}

/** The path, or an earlier part of it, does not exist. `at` is the index of its token. */
class MissingError extends OperationError {
  readonly at: number;

  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

/**
 * Returns the document after one operation (go-patch: patch/{replace,remove,test}_op.go). Does not change the
 * old one. Throws an OperationError that names the part of the path that does not fit.
 */
export function applyOperation(document: YamlNode, operation: Operation): YamlNode {
  const { tokens } = operation;
  switch (operation.type) {
    case 'replace':
      return change(document, { operation, at: 0 });
    case 'remove':
      if (tokens.length === 0) throw new OperationError('the whole document cannot be removed');
      return change(document, { operation, at: 0 });
    case 'test':
      return test(document, operation);
  }
}

/** Returns the node at the path. Throws an OperationError if the path does not exist. */
export function find(document: YamlNode, path: string, tokens: readonly PathToken[]): YamlNode | undefined {
  let node: YamlNode | undefined = document;
  for (const [at, token] of tokens.entries()) {
    if (node === undefined) return undefined;
    const shown = pathPrefix(path, at + 1);
    node = step(node, token, { shown, at });
  }
  return node;
}

interface Lookup {
  readonly shown: string;
  readonly at: number;
}

function step(node: YamlNode, token: PathToken, where: Lookup): YamlNode | undefined {
  switch (token.kind) {
    case 'key': {
      const value = lookUp(asMap(node, where), token.key);
      if (value === undefined && !token.optional) throw missingKey(asMap(node, where), token.key, where);
      return value;
    }
    case 'index': {
      const list = asList(node, where);
      return list.items[concreteIndex(list, token.index, token.modifiers, where)];
    }
    case 'match': {
      const list = asList(node, where);
      const index = matchIndex(list, token, where);
      if (index === undefined) return undefined;
      return list.items[concreteIndex(list, index, token.modifiers, where)];
    }
    case 'after-last':
      throw new OperationError(`nothing can be found at '${where.shown}', which is after the last item`);
  }
}

function test(document: YamlNode, operation: Operation & { type: 'test' }): YamlNode {
  const { path, tokens, value } = operation;
  if (value !== undefined) {
    const found = find(document, path, tokens);
    if (found !== undefined && isDeepStrictEqual(toValue(found), toValue(value))) return document;
    throw new OperationError(`the value at '${path}' is not the expected value`);
  }
  try {
    find(document, path, tokens);
  } catch (error) {
    if (error instanceof MissingError && error.at === tokens.length - 1) return document;
    throw error;
  }
  throw new OperationError(`expected no value at '${path}'`);
}

interface PathStep {
  readonly operation: Operation & { type: 'replace' | 'remove' };
  readonly at: number;
}

/**
 * Returns the node with the operation applied below it. An undefined node is a part that does not exist yet.
 */
function change(node: YamlNode | undefined, current: PathStep): YamlNode {
  const { operation, at } = current;
  const token = operation.tokens[at];
  if (token === undefined) return newValue(operation);
  const where = { shown: pathPrefix(operation.path, at + 1), at };
  switch (token.kind) {
    case 'key':
      return changeKey(asMap(node ?? emptyMap(operation), where), token, { ...current, where });
    case 'index':
      return changeIndex(asList(node, where), token.index, token.modifiers, { ...current, where });
    case 'match':
      return changeMatch(asList(node ?? emptyList(operation), where), token, { ...current, where });
    case 'after-last': {
      if (operation.type === 'remove') throw new OperationError(`nothing can be removed at '${where.shown}'`);
      const list = asList(node ?? emptyList(operation), where);
      return { ...list, items: [...list.items, operation.value] };
    }
  }
}

type PathState = PathStep & { readonly where: Lookup };

function changeKey(map: MapNode, token: PathToken & { kind: 'key' }, current: PathState): YamlNode {
  const { operation, at, where } = current;
  const present = map.entries.find(({ key }) => key.value === token.key);
  const last = at === operation.tokens.length - 1;
  if (present === undefined) {
    if (!token.optional) throw missingKey(map, token.key, where);
    if (operation.type === 'remove') return map;
    const next = operation.tokens[at + 1];
    if (next?.kind === 'index')
      throw new OperationError(`'${where.shown}' is missing, so it has no items by number`);
    const value = change(undefined, { operation, at: at + 1 });
    return { ...map, entries: [...map.entries, { key: scalar(token.key, value.position), value }] };
  }
  if (last && operation.type === 'remove')
    return { ...map, entries: map.entries.filter((one) => one !== present) };
  const value = change(present.value, { operation, at: at + 1 });
  return { ...map, entries: map.entries.map((one) => (one === present ? { ...one, value } : one)) };
}

function changeMatch(list: ListNode, token: PathToken & { kind: 'match' }, current: PathState): YamlNode {
  const { operation, at, where } = current;
  const index = matchIndex(list, token, where);
  if (index !== undefined) return changeIndex(list, index, token.modifiers, current);
  if (operation.type === 'remove') return list;
  const last = at === operation.tokens.length - 1;
  const { position } = operation.value;
  const entries = [{ key: scalar(token.key, position), value: scalar(token.value, position) }];
  const item = last ? operation.value : change({ kind: 'map', entries, position }, { operation, at: at + 1 });
  return { ...list, items: [...list.items, item] };
}

function changeIndex(
  list: ListNode,
  index: number,
  modifiers: readonly Modifier[],
  current: PathState,
): YamlNode {
  const { operation, at, where } = current;
  const last = at === operation.tokens.length - 1;
  if (!last) {
    const concrete = concreteIndex(list, index, modifiers, where);
    const changed = change(list.items[concrete], { operation, at: at + 1 });
    return { ...list, items: list.items.with(concrete, changed) };
  }
  if (operation.type === 'remove') {
    return { ...list, items: list.items.toSpliced(concreteIndex(list, index, modifiers, where), 1) };
  }
  const insertion = modifiers.at(-1);
  if (insertion !== 'before' && insertion !== 'after') {
    return { ...list, items: list.items.with(concreteIndex(list, index, modifiers, where), operation.value) };
  }
  const concrete =
    concreteIndex(list, index, modifiers.slice(0, -1), where) + (insertion === 'after' ? 1 : 0);
  return { ...list, items: list.items.toSpliced(concrete, 0, operation.value) };
}

function concreteIndex(
  list: ListNode,
  index: number,
  modifiers: readonly Modifier[],
  { shown, at }: Lookup,
): number {
  let result = index;
  for (const modifier of modifiers) {
    if (modifier === 'before' || modifier === 'after') {
      throw new OperationError(
        `'${modifier}' at '${shown}' is allowed only at the end of a path that is replaced`,
      );
    }
    result += modifier === 'next' ? 1 : -1;
  }
  const { length } = list.items;
  if (result >= length || -result - 1 >= length) {
    throw new MissingError(`there is no item ${result} at '${shown}', the list has ${length}`, at);
  }
  return result < 0 ? length + result : result;
}

/** Returns the index of the matching item, or undefined if there is none and the token is optional. */
function matchIndex(
  list: ListNode,
  token: PathToken & { kind: 'match' },
  { shown }: Lookup,
): number | undefined {
  const indexes = list.items.flatMap((item, index) =>
    lookUpText(item, token.key) === token.value ? [index] : [],
  );
  if (indexes.length === 0 && token.optional) return undefined;
  if (indexes.length === 1) return indexes[0];
  throw new OperationError(`expected exactly one item that matches '${shown}' but found ${indexes.length}`);
}

function lookUpText(node: YamlNode, key: string): string | undefined {
  const value = lookUp(node, key);
  return value?.kind === 'scalar' && typeof value.value === 'string' ? value.value : undefined;
}

function newValue(operation: Operation): YamlNode {
  if (operation.type === 'replace') return operation.value;
  throw new Error('a removal ends at its last token');
}

function emptyMap(operation: Operation): MapNode {
  return { kind: 'map', entries: [], position: newValue(operation).position };
}

function emptyList(operation: Operation): ListNode {
  return { kind: 'list', items: [], position: newValue(operation).position };
}

function asMap(node: YamlNode, { shown }: Lookup): MapNode {
  if (node.kind === 'map') return node;
  throw new OperationError(`expected a map for '${shown}' but found ${describeKind(node)}`);
}

function asList(node: YamlNode | undefined, { shown }: Lookup): ListNode {
  if (node?.kind === 'list') return node;
  throw new OperationError(
    `expected a list for '${shown}' but found ${node === undefined ? 'nothing' : describeKind(node)}`,
  );
}

function missingKey(map: MapNode, key: string, { shown, at }: Lookup): MissingError {
  const keys = map.entries.map((entry) => `'${entry.key.text}'`).toSorted();
  const found = keys.length === 0 ? 'the map is empty' : `there are ${keys.join(', ')}`;
  return new MissingError(`there is no key '${key}' for '${shown}'; ${found}`, at);
}
