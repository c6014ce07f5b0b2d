import { networkAttachmentDefinitions } from '../../../../kubernetes/resources.ts';
import { describeKind, object, string } from './describe.ts';

/**
 * k8s.cni.cncf.io/v1 as Multus installs it. Not in the embedded cluster by itself, which has no Multus: a test, or
 * who wants to see the objects, creates it.
 */
export const networkAttachmentDefinition = describeKind({
  group: networkAttachmentDefinitions.group,
  plural: networkAttachmentDefinitions.plural,
  kind: 'NetworkAttachmentDefinition',
  shortNames: ['net-attach-def'],
  scope: 'Namespaced',
  version: { schema: { openAPIV3Schema: object({ spec: object({ config: string() }) }) } },
});
