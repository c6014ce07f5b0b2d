import { ProductError } from '../../errors/product-error.ts';
import { Field } from '../../platform/field.ts';
import { type JsonObject, isObject } from '../../platform/json.ts';
import { quantityRange } from '../../kubernetes/types/quantity.ts';
import { isDnsLabel } from '../../kubernetes/names.ts';
import { isDiskCid, isSnapshotCid, isVmCid } from '../objects/names.ts';

/** The context that one argument names. */
interface ContextClaim {
  readonly what: string;
  readonly context: string | undefined;
}

/**
 * Reads the positional arguments of one call: each method reads the next one. Removes the context from cids
 * and from cloud_properties, so that verbs do not know contexts: a cid that is read is the name of an object.
 * A text that cannot be a cid of the CPI passes as it is, because it names no object in any context.
 *
 * Throws INVALID_ARGUMENT for a wrong type. Throws CONTEXT_MISMATCH if two arguments name different contexts.
 * detach_disk throws DISK_NOT_ATTACHED and update_disk NOT_SUPPORTED instead, because their callers continue
 * after these (a director then copies the disk itself).
 */
export class Arguments {
  readonly #method: string;
  readonly #values: readonly unknown[];
  #index = 0;
  #first: ContextClaim | undefined;
  readonly #cids: string[] = [];

  constructor(method: string, values: readonly unknown[]) {
    this.#method = method;
    this.#values = values;
  }

  /** The context that the arguments named so far; undefined: the default one, or two of them disagree. */
  get context(): string | undefined {
    return this.#first?.context;
  }

  /** The valid cids that were read or qualified so far, each once. */
  get cids(): readonly string[] {
    return this.#cids;
  }

  /** Returns the cid of an object in the context of the call, for the caller to use in later calls. */
  qualify(name: string): string {
    return this.#note(formatCid(this.context, name));
  }

  string(name: string): string {
    return this.#next(name).nonEmptyString();
  }

  sizeMiB(name: string): number {
    return this.#next(name).integer(quantityRange);
  }

  /** Null and absent are an empty object. */
  record(name: string): JsonObject {
    return this.#next(name).record();
  }

  /**
   * Reads an object that is the only argument. Errors name its keys without the name of the argument, which
   * is in no request.
   */
  onlyRecord(_name: string): JsonObject {
    return this.#next().record();
  }

  networks(): JsonObject {
    return this.record('networks');
  }

  vmCid(): string {
    return this.#cid('vm');
  }

  diskCid(): string {
    return this.#cid('disk');
  }

  snapshotCid(): string {
    return this.#cid('snapshot');
  }

  networkCid(): string {
    return this.#cid('network');
  }

  optionalVmCid(): string | undefined {
    const cid = this.#next('vm_cid').optional()?.nonEmptyString();
    return cid === undefined ? undefined : this.#nameOf(cid, 'vm');
  }

  /** Reads the cid of has_vm or has_disk. A value of any other type is undefined: it names no object. */
  looseCid(kind: 'vm' | 'disk'): string | undefined {
    const { value } = this.#next(`${kind}_cid`);
    return typeof value === 'string' ? this.#nameOf(value, kind) : undefined;
  }

  /**
   * Reads the cid of a VM that may be in another context. Returns undefined for a VM in another context, and
   * if the argument is null or absent.
   */
  vmCidOfThisContext(name: string): string | undefined {
    const text = this.#next(name).optional()?.nonEmptyString();
    const cid = parseCid(text, 'vm');
    if (cid === undefined) return text;
    return cid.context === this.context ? cid.name : undefined;
  }

  diskCids(): readonly string[] {
    return this.#next('disk_cids')
      .strings()
      .map((cid) => this.#nameOf(cid, 'disk'));
  }

  /**
   * Reads cloud_properties that choose the context of the new object. Without `context` it is the default.
   */
  placement(): JsonObject {
    const { context, rest } = this.#cloudProperties();
    this.#claim({ what: 'the VM', context });
    return rest;
  }

  /** Reads cloud_properties that may name a context, but need not if a cid of the same call has one. */
  cloudProperties(): JsonObject {
    const { context, rest } = this.#cloudProperties();
    if (context !== undefined) this.#claim({ what: 'cloud_properties', context });
    return rest;
  }

  /** Reads the only argument of create_network: `{type, cloud_properties, range, …}`. */
  networkDefinition(): JsonObject {
    const definition = this.#next();
    if (!definition.isPresent) throw definition.error('needs the definition of a network');
    const properties = definition.get('cloud_properties');
    // parseNetworkRequest rejects any other type
    if (!isObject(properties.value)) return definition.record();
    const { context, rest } = withoutContext(properties);
    if (context === undefined) return definition.record();
    this.#claim({ what: 'the network', context });
    return { ...definition.record(), cloud_properties: rest };
  }

  /** Returns the next argument. `name` is absent for a method that has only one argument. */
  #next(name?: string): Field {
    const value = this.#values[this.#index];
    this.#index += 1;
    const path = name === undefined ? this.#method : `${this.#method}.${name}`;
    return new Field(value, path, 'INVALID_ARGUMENT');
  }

  #cid(kind: CidKind): string {
    return this.#nameOf(this.#next(`${kind}_cid`).nonEmptyString(), kind);
  }

  /** Returns the name of the object, and notes its context. */
  #nameOf(text: string, kind: CidKind): string {
    const cid = parseCid(text, kind);
    if (cid === undefined) return text;
    this.#note(text);
    this.#claim({ what: `${kind} '${cid.name}'`, context: cid.context });
    return cid.name;
  }

  #note(cid: string): string {
    if (!this.#cids.includes(cid)) this.#cids.push(cid);
    return cid;
  }

  #cloudProperties(): { context: string | undefined; rest: JsonObject } {
    return withoutContext(this.#next('cloud_properties'));
  }

  #claim(claim: ContextClaim): void {
    const first = this.#first ?? claim;
    this.#first = claim.context === first.context ? first : undefined;
    if (this.#first === undefined) throw mismatch(this.#method, first, claim);
  }
}

function withoutContext(properties: Field): { context: string | undefined; rest: JsonObject } {
  const { context: _, ...rest } = properties.record();
  const context = properties
    .get('context')
    .optional()
    ?.stringThat(isContextName, 'must be up to 190 visible ASCII characters without quotes and backslashes');
  return { context, rest };
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
