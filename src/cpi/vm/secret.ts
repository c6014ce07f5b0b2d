import type { CallContext } from '../call.ts';
import { annotation } from '../objects/labels.ts';
import type { VmPlan } from './vm-spec.ts';
import { podTemplate, vmLabels } from './pod.ts';
import { settingsKey } from '../objects/layout.ts';
import { encodePod, podKey } from './recorded-pod.ts';
import type { VmSecret } from './vms.ts';

/**
 * Returns the Secret that owns the VM. It contains the agent's settings and, if the strategy is `recreate`,
 * the recorded pod.
 */
export function vmSecret(call: CallContext, plan: VmPlan): VmSecret {
  const { spec, facts } = plan;
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: {
      name: spec.cid,
      namespace: call.namespace,
      labels: vmLabels(call, spec),
      annotations: {
        [annotation.attach]: facts.attach,
        ...(spec.services.length > 0 && {
          [annotation.services]: JSON.stringify(spec.services.map(({ name }) => name)),
        }),
      },
    },
    data: {
      [settingsKey]: Buffer.from(spec.settings, 'utf8').toString('base64'),
      ...(facts.attach === 'recreate' && { [podKey]: encodePod(podTemplate(call, plan)) }),
    },
  };
}
