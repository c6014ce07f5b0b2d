import { kindSchema } from '../../schema/schema.ts';
import type { Schema } from '../../schema/schema.ts';
import type { Kind } from '../kind.ts';

/** Returns a review kind. Its plural is `name` in lower case with an s. */
export function reviewKind(
  group: string,
  name: string,
  parts: Pick<Kind, 'validate'> & { review: NonNullable<Kind['review']> } & {
    readonly spec?: Schema;
    readonly status: Schema;
  },
): Kind {
  const singular = name.toLowerCase();
  const { spec, status, ...rest } = parts;
  return {
    resource: { group, version: 'v1', plural: `${singular}s`, namespaced: false },
    name,
    singular,
    shortNames: [],
    categories: [],
    schema: kindSchema({ ...(spec === undefined ? {} : { spec }), status }),
    hasStatus: false,
    countsGenerations: false,
    nameRule: 'segment',
    ...rest,
  };
}
