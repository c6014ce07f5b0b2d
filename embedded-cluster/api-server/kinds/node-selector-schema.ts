import { fields, array, mapOf, string } from '../schema/schema.ts';

const requirement = fields({ key: string, operator: string, values: array(string) });

/** v1.NodeSelectorTerm */
export const nodeSelectorTerm = fields({
  matchExpressions: array(requirement),
  matchFields: array(requirement),
});

/** v1.NodeSelector */
export const nodeSelector = fields({ nodeSelectorTerms: array(nodeSelectorTerm) });

/** metav1.LabelSelector */
export const labelSelector = fields({ matchLabels: mapOf(string), matchExpressions: array(requirement) });
