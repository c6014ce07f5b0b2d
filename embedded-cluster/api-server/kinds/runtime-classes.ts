import { runtimeClasses } from '../../../src/kubernetes/resources.ts';
import { required } from '../errors/field-causes.ts';
import { kindSchema, string } from '../schema/schema.ts';
import { stringAt } from './columns.ts';
import type { Kind } from './kind.ts';
import { checkName } from './checks.ts';
import { checkImmutable } from './object-meta.ts';

/**
 * RuntimeClass without overhead and scheduling: no node here has a second runtime, so they would have no
 * effect.
 */
export const runtimeClassKind: Kind = {
  resource: runtimeClasses,
  name: 'RuntimeClass',
  singular: 'runtimeclass',
  shortNames: [],
  categories: [],
  schema: kindSchema({ handler: string }),
  hasStatus: false,
  countsGenerations: false,
  nameRule: 'subdomain',
  validate: (draft) => {
    const handler = stringAt(draft, ['handler']);
    return handler === '' ? [required('handler')] : checkName('handler', handler, 'label');
  },
  validateUpdate: (draft, current) => checkImmutable('handler', draft['handler'], current['handler']),
};
