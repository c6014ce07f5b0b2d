import type { User } from '../access/user.ts';
import { invalid } from '../errors/status-errors.ts';
import type { Kind } from '../kinds/kind.ts';
import type { DecodeOptions } from '../schema/decode.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { decodeDraft } from './decode-draft.ts';
import type { Registry } from './registry.ts';

interface ReviewOptions {
  readonly user: User;
  readonly namespace: string | undefined;
  readonly decoding?: DecodeOptions | undefined;
}

/**
 * Serves POST of a review: returns it with its status and stores nothing. Only for kinds with `review`.
 * Throws ApiError 400 (body), 422 (invalid).
 */
export function evaluateReview(
  registry: Registry,
  kind: Kind,
  body: unknown,
  { user, namespace, decoding }: ReviewOptions,
): StoredObject {
  const draft = decodeDraft(kind, body, decoding);
  if (kind.resource.namespaced && namespace !== undefined) draft.metadata.namespace ??= namespace;
  const causes = kind.validate(draft);
  if (causes.length > 0) throw invalid(kind.name, kind.resource.group, draft.metadata.name, causes);
  return { ...draft, status: kind.review?.(draft, { registry, user }) };
}
