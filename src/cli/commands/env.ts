import type { Socks5Proxy } from '../../bosh/agent-client/socks5-connect.ts';
import { startEnv as start, stopEnv as stop } from '../../deploy/agent-commands.ts';
import { createEnv as deploy } from '../../deploy/create-env.ts';
import { deleteEnv as remove } from '../../deploy/delete-env.ts';
import {
  envFlags,
  envUsage,
  parseEnvArguments,
  type EnvArguments,
  type EnvCommand,
} from '../args/env-arguments.ts';
import { assertStateOutsideOfPackage } from '../assert-outside-of-package.ts';
import { withRecordedCluster } from '../cluster/with-recorded-cluster.ts';
import type { Command, CommandContext } from '../command.ts';
import { commandInVm, envPorts } from '../env-ports.ts';
import { withAgentProxy } from '../tunnel/with-agent-proxy.ts';

export const createEnv = envCommand(
  'create-env',
  'Create or update the VM of a manifest, like bosh',
  async (options, context) => {
    await deploy(options, envPorts(context));
  },
);

export const deleteEnv = envCommand(
  'delete-env',
  'Delete VM, disks and stemcell of a manifest, like bosh',
  async (options, context) => {
    const { unconfirmedDisks } = await remove(options, envPorts(context));
    for (const { id } of unconfirmedDisks)
      context.terminal.error(
        `Warning: disk '${id}' was requested and may exist unclaimed; 'bosh-kubernetes status' lists it`,
      );
  },
);

export const stopEnv = envCommand(
  'stop-env',
  'Stop the jobs of the VM of a manifest, like bosh',
  (options, context) => stop(options, envPorts(context)),
);

export const startEnv = envCommand(
  'start-env',
  'Start the jobs of the VM of a manifest, like bosh',
  (options, context) => start(options, envPorts(context)),
);

type Options = ReturnType<typeof deployerOptions>;

/** Returns a command that runs the deployer with a manifest. */
function envCommand(
  name: Exclude<EnvCommand, 'up' | 'interpolate' | 'destroy'>,
  summary: string,
  run: (options: Options, context: CommandContext) => Promise<void>,
): Command {
  return {
    name,
    usage: envUsage[name],
    operands: [name === 'create-env' ? 'file' : 'deployment', 'other'],
    flags: envFlags(name),
    example: 'director.yml --vars-store creds.yml -l vars.yml',
    documentation: 'docs/deploying.md',
    summary,
    json: true,
    async run(args, context) {
      const parsed = await withRecordedCluster(parseEnvArguments(name, args), context);
      if (name === 'create-env') await assertStateOutsideOfPackage(parsed, context.installation);
      await withAgentProxy(parsed, context, (proxy) => run(deployerOptions(parsed, context, proxy), context));
      context.terminal.out('\nSucceeded\n');
      return 0;
    },
  };
}

function deployerOptions(
  parsed: EnvArguments & { readonly kubeconfig?: string },
  { installation, signal, secrets }: CommandContext,
  proxy: Socks5Proxy | undefined,
) {
  const { workspace } = installation;
  const { kubeconfig, ...wanted } = parsed;
  return {
    ...wanted,
    proxy,
    workspace,
    signal,
    commandInVm: commandInVm(kubeconfig),
    onSecrets: secrets.add,
  };
}
