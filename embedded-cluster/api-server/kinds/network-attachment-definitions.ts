import { networkAttachmentDefinitions } from '../../../src/kubernetes/resources.ts';
import { fields, kindSchema, string } from '../schema/schema.ts';
import type { Kind } from './kind.ts';

/** k8s.cni.cncf.io/v1 as Multus installs it. Multus does not run here, so pods get no interfaces from it. */
export const networkAttachmentDefinitionKind: Kind = {
  resource: networkAttachmentDefinitions,
  name: 'NetworkAttachmentDefinition',
  singular: 'network-attachment-definition',
  shortNames: ['net-attach-def'],
  categories: [],
  isCustomResource: true,
  schema: kindSchema({ spec: fields({ config: string }) }),
  hasStatus: false,
  countsGenerations: true,
  nameRule: 'subdomain',
  validate: () => [],
};
