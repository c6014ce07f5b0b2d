import { ProductError } from '../../errors/product-error.ts';
import { type Json, type Location, child, optionalStringAt, invalidValue } from '../input.ts';
import type { Parameter, Signature } from './methods.ts';
import { isDnsLabel } from '../../kubernetes/names.ts';
import { isDiskCid, isSnapshotCid, isVmCid } from '../objects/names.ts';

export interface ResolvedCall {
  /** The context that the call works in; undefined: the default one. */
  readonly contextName: string | undefined;
  /** The arguments as verbs read them: names instead of cids, and no `context` in cloud_properties. */
  readonly arguments: readonly unknown[];
}

/** The context that one argument names. */
interface ContextClaim {
  readonly what: string;
  readonly context: string | undefined;
}

interface ResolvedArgument {
  readonly claims: readonly ContextClaim[];
  readonly value: unknown;
}

/**
 * Determines the context that all arguments name, and removes it from them, so that verbs do not know
 * contexts. Rejects before any request to Kubernetes. Throws CONTEXT_MISMATCH if the arguments name two
 * contexts. detach_disk throws DISK_NOT_ATTACHED and update_disk NOT_SUPPORTED instead, because their callers
 * continue after these (a director then copies the disk itself).
 */
export function parseCall(method: string, signature: Signature, args: readonly unknown[]): ResolvedCall {
  const place: Location = { code: 'INVALID_ARGUMENT', path: method };
  const values: unknown[] = [];
  let first: ContextClaim | undefined;
  for (const [index, given] of args.entries()) {
    const parameter = signature.parameters[index];
    const { claims, value } =
      parameter?.allowOtherContext === true
        ? { claims: [], value: withContext(given, first?.context) }
        : resolveArgument(parameter, given, place);
    values.push(value);
    for (const claim of claims) {
      first ??= claim;
      if (claim.context !== first.context) throw mismatch(method, first, claim);
    }
  }
  return { contextName: first?.context, arguments: values };
}

/** Adds the context to the cids in the result, so that the caller can use them in later calls. */
export function qualifyResult(
  signature: Signature,
  result: unknown,
  contextName: string | undefined,
): unknown {
  const qualified = (name: unknown): unknown =>
    typeof name === 'string' ? formatCid(contextName, name) : name;
  switch (signature.cids) {
    case undefined:
      return result;
    case 'result':
      return qualified(result);
    case 'first':
      return Array.isArray(result) ? [qualified(result[0]), ...result.slice(1)] : result;
    case 'each':
      return Array.isArray(result) ? result.map((name) => qualified(name)) : result;
    default:
      return signature.cids satisfies never;
  }
}

function resolveArgument(
  parameter: Parameter | undefined,
  value: unknown,
  place: Location,
): ResolvedArgument {
  if (parameter === undefined) return { claims: [], value };
  switch (parameter.type) {
    case 'vm cid':
      return resolveCid(value, 'vm');
    case 'disk cid':
      return resolveCid(value, 'disk');
    case 'snapshot cid':
      return resolveCid(value, 'snapshot');
    case 'network cid':
      return resolveCid(value, 'network');
    case 'disk cids':
      return resolveCids(value);
    case 'placing properties': {
      const { context, rest } = withoutContext(value, child(place, parameter.name));
      return { claims: [{ what: 'the VM', context }], value: rest };
    }
    case 'properties': {
      const { context, rest } = withoutContext(value, child(place, parameter.name));
      return { claims: context === undefined ? [] : [{ what: 'cloud_properties', context }], value: rest };
    }
    case 'network definition':
      return resolveCloudProperties(value, child(place, parameter.name));
    case 'string':
    case 'size':
    case 'object':
    case 'networks':
      return { claims: [], value };
    default:
      return parameter.type satisfies never;
  }
}

function resolveCid(value: unknown, kind: CidKind): ResolvedArgument {
  const cid = parseCid(value, kind);
  if (cid === undefined) return { claims: [], value };
  return { claims: [{ what: `${kind} '${cid.name}'`, context: cid.context }], value: cid.name };
}

/** Returns the name of a VM of that context; null for a VM of another one. */
function withContext(value: unknown, contextName: string | undefined): unknown {
  const cid = parseCid(value, 'vm');
  if (cid === undefined) return value;
  return cid.context === contextName ? cid.name : null;
}

function resolveCids(value: unknown): ResolvedArgument {
  if (!Array.isArray(value)) return { claims: [], value };
  const parts = value.map((cid) => resolveCid(cid, 'disk'));
  return { claims: parts.flatMap(({ claims }) => claims), value: parts.map((part) => part.value) };
}

function resolveCloudProperties(value: unknown, place: Location): ResolvedArgument {
  if (!isObject(value)) return { claims: [], value };
  const { context, rest } = withoutContext(value['cloud_properties'], child(place, 'cloud_properties'));
  if (context === undefined) return { claims: [], value };
  return { claims: [{ what: 'the network', context }], value: { ...value, cloud_properties: rest } };
}

function withoutContext(value: unknown, place: Location): { context: string | undefined; rest: unknown } {
  if (!isObject(value)) return { context: undefined, rest: value };
  const { context: given, ...rest } = value;
  const context = optionalStringAt(given, child(place, 'context'));
  if (context === undefined || isContextName(context)) return { context, rest };
  throw invalidValue(
    child(place, 'context'),
    'has to be up to 190 visible ASCII characters without quotes and backslashes',
  );
}

function mismatch(method: string, one: ContextClaim, conflicting: ContextClaim): ProductError {
  const describeClaim = ({ what, context }: ContextClaim): string =>
    `${what} is in ${context === undefined ? 'the default context' : `context '${context}'`}`;
  const message = `${method}: ${describeClaim(one)}, ${describeClaim(conflicting)}; a disk can be used in its own context only: name a VM and a disk of the same one`;
  switch (method) {
    case 'detach_disk':
      return new ProductError('DISK_NOT_ATTACHED', message);
    case 'update_disk':
      return new ProductError('NOT_SUPPORTED', message);
    default:
      return new ProductError('CONTEXT_MISMATCH', message);
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export type CidKind = 'vm' | 'disk' | 'snapshot' | 'network';

export interface QualifiedCid {
  /** Undefined: the default context. */
  readonly context: string | undefined;
  /** The name of the object in its cluster. Paths and labels have only this name. */
  readonly name: string;
}

/**
 * Parses `<context>:<name>` or `<name>`, split at the last colon, because names of contexts may contain
 * colons themselves. Returns undefined for a text that cannot be a cid of the CPI of that kind: it names no
 * object in any context.
 */
export function parseCid(text: unknown, kind: CidKind): QualifiedCid | undefined {
  if (typeof text !== 'string') return undefined;
  const colon = text.lastIndexOf(':');
  const name = text.slice(colon + 1);
  const context = colon < 0 ? undefined : text.slice(0, colon);
  if (!isCidOfKind(name, kind) || (context !== undefined && !isContextName(context))) return undefined;
  return { context, name };
}

/**
 * Returns whether a text can be the name of a context: visible ASCII without quotes and backslashes, so that
 * a cid is the same text in the JSON of an agent and in its shell, and short enough for a director's column
 * of 255 characters together with the longest name.
 */
export const isContextName = (text: string): boolean =>
  /^[\x21\x23-\x26\x28-\x5b\x5d-\x5f\x61-\x7e]{1,190}$/u.test(text);

/** Returns the cid of an object in a context. */
export const formatCid = (context: string | undefined, name: string): string =>
  context === undefined ? name : `${context}:${name}`;

function isCidOfKind(name: string, kind: CidKind): boolean {
  switch (kind) {
    case 'vm':
      return isVmCid(name);
    case 'disk':
      return isDiskCid(name);
    case 'snapshot':
      return isSnapshotCid(name);
    case 'network':
      return name.startsWith('net') && isDnsLabel(name);
    default:
      return kind satisfies never;
  }
}
