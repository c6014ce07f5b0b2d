import type { Command } from '../command.ts';
import { scpArguments } from '../ssh/openssh-arguments.ts';
import { runOpenssh } from '../ssh/run-openssh.ts';
import { parseScpArguments, sshUsage } from '../ssh/ssh-arguments.ts';
import { withSshSession } from '../ssh/with-ssh-session.ts';

export const scp: Command = {
  name: 'scp',
  usage: sshUsage.scp,
  summary: 'Copy files from or to the VM of a manifest, as bosh scp --director does',
  async run(words, context) {
    const { paths, recursive, ...request } = parseScpArguments(words);
    return withSshSession(request, context, ({ login }) =>
      runOpenssh('scp', scpArguments(login, paths, recursive), {
        ...context,
        onMessage: (message: string): void => context.terminal.error(message),
      }),
    );
  },
};
