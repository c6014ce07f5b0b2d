import { badRequest, requestEntityTooLarge, unprocessable } from '../errors/status-errors.ts';
import { copyJson, isRecord, jsonEqual, measure } from '../schema/json.ts';
import type { JsonRecord } from '../schema/json.ts';

interface Operation {
  readonly op: string;
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

const maximumOperations = 10_000;
/** Counts values, not bytes. */
const maximumCopied = 100_000;
/** Counts values that moves and tests read: each of 10,000 operations could read a whole object. */
const maximumRead = 1_000_000;
const maximumDepth = 200;

/**
 * Applies an RFC 6902 patch. Changes neither argument. Throws ApiError 400 if it is not a JSON patch, 413 for
 * more than 10,000 operations, 422 if it does not apply or a `test` fails (apiserver
 * pkg/endpoints/handlers/patch.go).
 */
export function applyJsonPatch(target: unknown, patch: unknown): unknown {
  const operations = parseOperations(patch);
  let copied = 0;
  let visited = 0;
  return operations.reduce((document, operation) => {
    const added = copiedSize(document, operation);
    copied += added.copied;
    visited += added.readCount;
    if (copied > maximumCopied || visited > maximumRead || added.depth > maximumDepth) {
      throw unprocessable('unable to copy, the accumulated size or depth increase exceeds the limit');
    }
    return applyOperation(document, operation);
  }, copyJson(target));
}

/**
 * Returns the values that an operation copies and reads, and the depth it reaches. Without limits for these,
 * a patch of a few copies and additions could double an object until memory or stack are exhausted.
 */
function copiedSize(
  document: unknown,
  { op, path, from = '', value }: Operation,
): { copied: number; readCount: number; depth: number } {
  switch (op) {
    case 'copy':
    case 'move': {
      const { size, depth } = measure(read(document, parsePointer(from)));
      return { copied: op === 'copy' ? size : 0, readCount: size, depth: parsePointer(path).length + depth };
    }
    case 'add':
    case 'replace':
      return { copied: 0, readCount: 0, depth: parsePointer(path).length + measure(value).depth };
    case 'test':
      return { copied: 0, readCount: measure(readOrNull(document, parsePointer(path))).size, depth: 0 };
    default:
      return { copied: 0, readCount: 0, depth: 0 };
  }
}

function parseOperations(patch: unknown): Operation[] {
  if (!Array.isArray(patch))
    throw badRequest('json: cannot unmarshal the body into a JSON patch: a list is needed');
  if (patch.length > maximumOperations) {
    throw requestEntityTooLarge(
      `The allowed maximum operations in a JSON patch is ${maximumOperations}, got ${patch.length}`,
    );
  }
  return patch.map((operation: unknown) => {
    if (
      !isRecord(operation) ||
      typeof operation['op'] !== 'string' ||
      typeof operation['path'] !== 'string'
    ) {
      throw badRequest('each operation of a JSON patch needs a string op and a string path');
    }
    return operation as unknown as Operation;
  });
}

function applyOperation(document: unknown, operation: Operation): unknown {
  const path = parsePointer(operation.path);
  switch (operation.op) {
    case 'add':
      return add(document, path, copyJson(operation.value));
    case 'remove':
      return remove(document, path);
    case 'replace':
      read(document, path);
      return path.length === 0
        ? copyJson(operation.value)
        : add(remove(document, path), path, copyJson(operation.value));
    case 'move': {
      const from = parsePointer(operation.from ?? '');
      const value = read(document, from);
      return add(remove(document, from), path, value);
    }
    case 'copy':
      return add(document, path, copyJson(read(document, parsePointer(operation.from ?? ''))));
    case 'test':
      if (!jsonEqual(readOrNull(document, path), operation.value ?? null)) {
        throw unprocessable(`testing value ${operation.path} failed`);
      }
      return document;
    default:
      throw unprocessable(`unexpected kind of JSON patch operation: ${JSON.stringify(operation.op)}`);
  }
}

function parsePointer(pointer: string): string[] {
  if (pointer === '') return [];
  if (!pointer.startsWith('/'))
    throw unprocessable(`JSON pointer ${JSON.stringify(pointer)} must start with /`);
  return pointer
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function read(document: unknown, path: readonly string[]): unknown {
  return path.reduce((value: unknown, token) => {
    if (Array.isArray(value) && isIndex(token, value.length - 1)) return value[Number(token)] as unknown;
    if (isRecord(value) && Object.hasOwn(value, token)) return value[token];
    throw notFoundError(path);
  }, document);
}

function readOrNull(document: unknown, path: readonly string[]): unknown {
  const parent = path.length === 0 ? document : read(document, path.slice(0, -1));
  const last = path.at(-1);
  if (last !== undefined && isRecord(parent) && !Object.hasOwn(parent, last)) return null;
  return read(document, path);
}

function add(document: unknown, path: readonly string[], value: unknown): unknown {
  const last = path.at(-1);
  if (last === undefined) return value;
  const parent = read(document, path.slice(0, -1));
  if (Array.isArray(parent) && (last === '-' || isIndex(last, parent.length))) {
    parent.splice(last === '-' ? parent.length : Number(last), 0, value);
  } else if (isRecord(parent)) setMember(parent, last, value);
  else throw notFoundError(path);
  return document;
}

function remove(document: unknown, path: readonly string[]): unknown {
  const last = path.at(-1);
  if (last === undefined) throw unprocessable('the whole document cannot be removed');
  const parent = read(document, path.slice(0, -1));
  read(document, path);
  if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else if (isRecord(parent)) delete parent[last];
  return document;
}

function setMember(record: JsonRecord, key: string, value: unknown): void {
  Object.defineProperty(record, key, { value, writable: true, enumerable: true, configurable: true });
}

function isIndex(token: string, maximum: number): boolean {
  return /^(0|[1-9]\d*)$/.test(token) && Number(token) <= maximum;
}

function notFoundError(path: readonly string[]): Error {
  return unprocessable(
    `the server rejected our request due to an error in our request: unable to find /${path.join('/')}`,
  );
}
