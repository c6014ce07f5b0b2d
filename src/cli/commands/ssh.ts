import type { Command } from '../command.ts';
import { sshArguments } from '../ssh/openssh-arguments.ts';
import { runOpenssh } from '../ssh/run-openssh.ts';
import { parseSshArguments, sshUsage } from '../ssh/ssh-arguments.ts';
import { withSshSession } from '../ssh/with-ssh-session.ts';

export const ssh: Command = {
  name: 'ssh',
  usage: sshUsage.ssh,
  summary: 'Log in to the VM of a manifest, or run a command there, as bosh ssh --director does',
  async run(words, context) {
    const { command, ...request } = parseSshArguments(words);
    return withSshSession(request, context, ({ login }) =>
      runOpenssh('ssh', sshArguments(login, command), context),
    );
  },
};
