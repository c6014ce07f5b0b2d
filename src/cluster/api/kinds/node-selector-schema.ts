import { fields, listOf, mapOf, text } from '../schema/schema.ts';

const requirement = fields({ key: text, operator: text, values: listOf(text) });

/** v1.NodeSelectorTerm */
export const nodeSelectorTerm = fields({
  matchExpressions: listOf(requirement),
  matchFields: listOf(requirement),
});

/** v1.NodeSelector */
export const nodeSelector = fields({ nodeSelectorTerms: listOf(nodeSelectorTerm) });

/** metav1.LabelSelector */
export const labelSelector = fields({ matchLabels: mapOf(text), matchExpressions: listOf(requirement) });
