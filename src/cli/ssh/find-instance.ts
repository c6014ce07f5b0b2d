import { stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { proxyVariable } from '../../bosh/agent-client/socks5-connect.ts';
import { statePathFor } from '../../deploy/state/state-file.ts';
import { manifestEndpoint, type VmAccessOptions } from '../../deploy/vm-access.ts';
import { readDirectorFile } from '../../director/director-file.ts';
import { readDirectorAgent } from '../../director/director-variables.ts';
import { ProductError } from '../../errors/product-error.ts';
import { secretStrings } from '../../errors/redact/secret-strings.ts';
import type { CommandContext } from '../command.ts';
import type { EnvInputs } from '../env-arguments.ts';
import { noDirectorFile } from '../open-way.ts';

/** A VM of create-env, as the arguments of a command identify it. */
export interface Instance extends Pick<VmAccessOptions, 'statePath' | 'endpoint'> {
  /** True if the command opens its own tunnel. */
  readonly tunnel: boolean;
}

/**
 * Finds the VM of a manifest or of a directory of `director init`. The agent of a director listens at the
 * director's address and is reached through a tunnel, unless director.json says that pod addresses are
 * reachable directly.
 */
export async function findInstance(
  inputs: EnvInputs,
  { environment, secrets }: Pick<CommandContext, 'environment' | 'secrets'>,
): Promise<Instance> {
  const path = resolve(inputs.manifestPath);
  if ((await stat(path).catch(() => undefined))?.isDirectory() !== true) {
    const loaded = { ...inputs, environment, onSecrets: secrets.add };
    return {
      statePath: await statePathFor(path, inputs.statePath),
      endpoint: () => manifestEndpoint(loaded),
      tunnel: inputs.tunnel,
    };
  }
  const { statePath, varsStorePath, opsFiles, varsFiles, varsEnvs, variables, variableFiles } = inputs;
  const given = [opsFiles, varsFiles, varsEnvs, Object.keys(variables), Object.keys(variableFiles)].flat();
  if ((statePath ?? varsStorePath) !== undefined || given.length > 0)
    throw new ProductError(
      'INVALID_ARGUMENT',
      `'${path}' is a director's folder, which takes no flags of a manifest`,
    );
  const file = await readDirectorFile(path);
  if (file === undefined) throw noDirectorFile(path);
  return {
    statePath: join(path, 'state.json'),
    endpoint: async () => {
      const agent = await readDirectorAgent(path, file.address);
      secrets.add(secretStrings({ mbus: agent.mbus, password: agent.password }));
      return { name: basename(path), ...agent };
    },
    tunnel: inputs.tunnel || (file.way !== 'direct' && (environment[proxyVariable] ?? '') === ''),
  };
}
