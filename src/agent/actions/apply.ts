import { applySpec } from '../apply/apply-spec.ts';
import type { ApplyOptions } from '../apply/apply-spec.ts';
import type { Settings } from '../settings/settings.ts';
import { parseApplySpec } from '../spec/apply-spec.ts';
import { resolveNetworks } from '../spec/resolve-networks.ts';
import type { Action } from './action.ts';
import { objectArgument } from './arguments.ts';

/** `apply [spec]` -> `"applied"`. */
export function apply(
  options: ApplyOptions & { settings: Settings; ownAddress: () => Promise<string> },
): Action {
  return {
    mode: 'asynchronous',
    async run(list) {
      const source = objectArgument(list, 0, 'apply spec');
      const resolved = resolveNetworks(source, options.settings.networks, await options.ownAddress());
      await applySpec(parseApplySpec(resolved), options);
      return 'applied';
    },
  };
}
