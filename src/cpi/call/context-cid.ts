import { isDnsLabel } from '../../kubernetes/names.ts';
import { isDiskCid, isSnapshotCid, isVmCid } from '../names.ts';

export type CidKind = 'vm' | 'disk' | 'snapshot' | 'network';

export interface ContextCid {
  /** Undefined: the default context. */
  readonly context: string | undefined;
  /** What the object is called in its cluster; paths and labels know nothing else. */
  readonly name: string;
}

/**
 * `<context>:<name>` or `<name>`, split at the last colon, because names of contexts may hold colons themselves.
 * Undefined for a text that can be no cid of ours of that kind: it names nothing, in whatever context.
 */
export function parseCid(text: unknown, kind: CidKind): ContextCid | undefined {
  if (typeof text !== 'string') return undefined;
  const colon = text.lastIndexOf(':');
  const name = text.slice(colon + 1);
  if (colon === 0 || !isNameOf(name, kind)) return undefined;
  return { context: colon < 0 ? undefined : text.slice(0, colon), name };
}

/** The cid of an object in a context. */
export const cidIn = (context: string | undefined, name: string): string =>
  context === undefined ? name : `${context}:${name}`;

function isNameOf(name: string, kind: CidKind): boolean {
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
