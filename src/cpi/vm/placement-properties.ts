import type { Toleration } from '../../kubernetes/types/pod.ts';
import { isLabelValue, isQualifiedName } from '../../kubernetes/names.ts';
import type { Field } from '../../platform/field.ts';
import type { Topic } from './property-topic.ts';

export interface Placement {
  /** The value of topology.kubernetes.io/zone that the VM's node must have. */
  readonly zone: string | undefined;
  /** Labels that the VM's node must have. */
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly tolerations: readonly Toleration[];
  readonly priorityClass: string | undefined;
  readonly runtimeClass: string | undefined;
}

/**
 * `zone`, `node_selector`, `tolerations`, `priority_class` and `runtime_class`: where the VM may run, and
 * with which priority.
 */
export const placement: Topic<Placement> = {
  keys: ['zone', 'node_selector', 'tolerations', 'priority_class', 'runtime_class'],
  parse: (properties) => ({
    zone: properties.get('zone').optional()?.stringThat(isLabelValue, 'cannot be the value of a node label'),
    nodeSelector: parseNodeSelector(properties.get('node_selector')),
    tolerations: properties.get('tolerations').list().map(parseToleration),
    priorityClass: properties.get('priority_class').optional()?.nonEmptyString(),
    runtimeClass: properties.get('runtime_class').optional()?.nonEmptyString(),
  }),
};

/**
 * Labels that other properties or the CPI itself set: a second value would be ignored or contradict the
 * first.
 */
const refusedLabels: ReadonlyMap<string, string> = new Map([
  ['topology.kubernetes.io/zone', 'is given as zone'],
  ['kubernetes.io/os', 'is always linux'],
]);

function parseNodeSelector(field: Field): Record<string, string> {
  const entries = field.entries().map(([key, value]) => {
    const reason = refusedLabels.get(key);
    if (reason !== undefined) throw value.error(reason);
    if (!isQualifiedName(key)) throw value.error('is not the name of a label');
    return [key, readLabelValue(value)] as const;
  });
  return Object.fromEntries(entries);
}

function readLabelValue(field: Field): string {
  const text = field.string();
  if (!isLabelValue(text)) throw field.error('cannot be the value of a label');
  return text;
}

const always = 'names a taint that every VM tolerates without end';
const refusedTaints: ReadonlyMap<string, string> = new Map([
  [
    'node.kubernetes.io/out-of-service',
    'names the taint that takes VMs off a lost node, which no VM may tolerate',
  ],
  ['node.kubernetes.io/not-ready', always],
  ['node.kubernetes.io/unreachable', always],
]);

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const;

/**
 * Parses `{key, operator, value, effect, toleration_seconds}`, which mean what they mean in Kubernetes. The
 * key is required: without it the VM would tolerate every taint, also the one by which an operator takes VMs
 * off a lost node (node.kubernetes.io/out-of-service).
 */
function parseToleration(item: Field): Toleration {
  item.rejectUnknownKeys(['key', 'operator', 'value', 'effect', 'toleration_seconds']);
  const operator = item.get('operator').optional()?.oneOf(['Equal', 'Exists']) ?? 'Equal';
  const value = item.get('value').optional();
  const effect = item.get('effect').optional()?.oneOf(effects);
  const seconds = item.get('toleration_seconds').optional();
  if (operator === 'Exists' && value !== undefined && value.value !== '')
    throw value.error('cannot be given with the operator Exists');
  if (seconds !== undefined && effect !== 'NoExecute') throw seconds.error('needs the effect NoExecute');
  return {
    key: readTaintKey(item.get('key')),
    operator,
    ...(value !== undefined && { value: readLabelValue(value) }),
    ...(effect !== undefined && { effect }),
    ...(seconds !== undefined && { tolerationSeconds: seconds.integer() }),
  };
}

function readTaintKey(field: Field): string {
  const key = field.stringThat(isQualifiedName, 'is not the key of a taint');
  const reason = refusedTaints.get(key);
  if (reason !== undefined) throw field.error(reason);
  return key;
}

/** The node label of a zone (kubernetes: well-known labels), which the cloud property `zone` sets. */
export const zoneLabel = 'topology.kubernetes.io/zone';
