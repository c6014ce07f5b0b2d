import { deleteEnv as remove } from '../../deploy/delete-env.ts';
import { commandInVm } from '../command-in-vm.ts';
import type { Command } from '../command.ts';
import { envUsage, parseEnvArguments } from '../env-arguments.ts';
import { envPorts } from '../env-ports.ts';
import { withAgentProxy } from '../with-agent-proxy.ts';

export const deleteEnv: Command = {
  name: 'delete-env',
  usage: envUsage['delete-env'],
  summary: 'Delete VM, disks and stemcell of a manifest, as bosh delete-env does',
  json: true,
  async run(words, context) {
    const parsed = parseEnvArguments('delete-env', words);
    const result = await withAgentProxy(parsed, context, (proxy) =>
      remove(
        {
          ...parsed,
          proxy,
          workspace: context.installation.workspace,
          signal: context.signal,
          commandInVm: commandInVm(),
          onSecrets: context.secrets.add,
        },
        envPorts(context),
      ),
    );
    for (const { id } of result.unconfirmedDisks) {
      context.terminal.error(
        `Warning: a disk asked for as '${id}' may exist unclaimed; 'bosh-kubernetes status' lists it`,
      );
    }
    context.terminal.out('\nSucceeded\n');
    return 0;
  },
};
