import { isDnsLabel } from '../../kubernetes/names.ts';
import { isDiskCid, isSnapshotCid, isVmCid } from '../names.ts';

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
