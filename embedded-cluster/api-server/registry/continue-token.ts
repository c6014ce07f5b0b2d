import { badRequest } from '../errors/status-errors.ts';
import { isRecord } from '../schema/json.ts';

/** The position at which a list continues. */
export interface ContinueToken {
  /** The version that the list shows; undefined: the current version. */
  readonly revision: number | undefined;
  /** The last key of the previous page. */
  readonly after: string;
  /** The name of the list: `pods`, `pods/<namespace>`. */
  readonly list: string;
}

const version = 'bosh-kubernetes/2';

/** Encodes a token as opaque text. */
export function encodeToken({ revision, after, list }: ContinueToken): string {
  return Buffer.from(JSON.stringify({ v: version, revision: revision ?? -1, after, list })).toString(
    'base64url',
  );
}

/** Decodes a token. Throws ApiError 400 if it is not a token of this server, or is one of another list. */
export function decodeToken(text: string, list: string): ContinueToken {
  const token = parse(Buffer.from(text, 'base64url').toString());
  const { v, revision, after, list: of } = isRecord(token) ? token : {};
  if (v !== version || !Number.isSafeInteger(revision) || typeof after !== 'string' || of !== list) {
    throw badRequest('continue key is not valid: it does not come from this server, or from another list');
  }
  return { revision: Number(revision) < 0 ? undefined : Number(revision), after, list };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
