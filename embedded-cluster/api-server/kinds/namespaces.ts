import { copyJson } from '../schema/json.ts';
import { namespaces } from '../../../src/kubernetes/resources.ts';
import { forbidden } from '../errors/status-errors.ts';
import { fields, kindSchema, array, string, time } from '../schema/schema.ts';
import { ageColumn, valueAt, column, nameColumn, stringAt } from './columns.ts';
import type { Kind } from './kind.ts';

const condition = fields({
  type: string,
  status: string,
  reason: string,
  message: string,
  lastTransitionTime: time,
});
const protectedNamespaces = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];

/**
 * Namespaces. A controller deletes the content first; then `spec.finalizers` is emptied and the object is
 * removed.
 */
export const namespaceKind: Kind = {
  resource: namespaces,
  name: 'Namespace',
  singular: 'namespace',
  shortNames: ['ns'],
  categories: [],
  schema: kindSchema({
    spec: fields({ finalizers: array(string) }),
    status: fields({ phase: string, conditions: array(condition, { key: 'type' }) }),
  }),
  hasStatus: true,
  countsGenerations: false,
  nameRule: 'label',
  columns: [nameColumn, column('Status', (object) => stringAt(object, ['status', 'phase'])), ageColumn],
  fillDefaults: (draft) => {
    draft.metadata.labels = { ...draft.metadata.labels, 'kubernetes.io/metadata.name': draft.metadata.name };
  },
  prepareCreate: (draft) => {
    draft['spec'] = { finalizers: ['kubernetes'] };
    draft['status'] = { phase: 'Active' };
  },
  prepareUpdate: (draft, current) => {
    draft['spec'] = copyJson(current['spec']);
  },
  validate: () => [],
  selectableFields: (object) => ({ 'status.phase': stringAt(object, ['status', 'phase']) }),
  ownFinalizers: (object) => {
    const finalizers = valueAt(object, 'spec', 'finalizers');
    return Array.isArray(finalizers) ? (finalizers as string[]) : [];
  },
  assertDeletable: ({ metadata }) => {
    if (protectedNamespaces.includes(metadata.name)) {
      throw forbidden(namespaces, metadata.name, 'this namespace may not be deleted');
    }
  },
  prepareDelete: (draft) => {
    draft['status'] = { phase: 'Terminating' };
  },
};
