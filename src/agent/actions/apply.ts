import { applySpec, type ApplyOptions } from '../apply/apply-spec.ts';
import type { Settings } from '../settings/settings.ts';
import { parseApplySpec } from '../apply/spec.ts';
import { resolveNetworks } from '../apply/networks.ts';
import { type Action, argument } from './action.ts';
import { installSpec, type InstallOptions } from '../apply/install-spec.ts';

/** `apply [spec]` -> `"applied"`. */
export function apply(
  options: ApplyOptions & { settings: Settings; ownAddress: () => Promise<string> },
): Action {
  return {
    mode: 'asynchronous',
    async run(args) {
      const source = argument(args, 0, 'apply spec').required().record();
      const resolved = resolveNetworks(source, options.settings.networks, await options.ownAddress());
      await applySpec(parseApplySpec(resolved), options);
      return 'applied';
    },
  };
}

/** `prepare [spec]` -> `"prepared"`: installs the jobs and packages of a spec beside those in use. */
export function prepare(options: InstallOptions): Action {
  return {
    mode: 'asynchronous',
    async run(args) {
      await installSpec(parseApplySpec(argument(args, 0, 'apply spec').required().record()), options);
      return 'prepared';
    },
  };
}
