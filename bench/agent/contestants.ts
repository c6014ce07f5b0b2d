import { chmod, copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packArchive } from '../../src/bosh/archive/pack-archive.ts';
import { vmFiles } from '../../src/stemcell/vm-files.ts';
import type { TestAgent } from '../../src/cpi/testing/agents.ts';
import { upstreamAgent, withoutUpstreamDirectorAgent } from '../../test/support/upstream-programs.ts';

/** An agent that is measured, with the programs that it consists of. */
export interface Contestant {
  readonly name: string;
  readonly agent: TestAgent;
  readonly programs: readonly string[];
}

/** The folder of a VM in which the files of a `TestAgent` are. */
const installed = '/opt/bosh-kubernetes';
/** The same files: upstream's agent mounts `/var/vcap/data/root_opt` over `/opt`. */
const moved = '/var/vcap/data/bench-programs';

/** Our agent as a stemcell has it. The embedded cluster has the bundle for Node instead. */
export const ourAgent = (executable: string): Contestant => ({
  name: 'this agent',
  programs: [join(installed, 'bosh-agent')],
  agent: async (directory) => {
    await copyFile(executable, join(directory, 'bosh-agent'));
    await writeStart(directory, `exec ${installed}/bosh-agent "$@"`);
  },
});

/**
 * Upstream's agent with its monit and bosh-davcli; a sentence if variables do not name these programs. Its
 * update_settings rebuilds the certificates in /etc/ssl/certs, which are the machine's and read-only in these
 * VMs, so it gets a copy. The mounts need the profile sys-admin.
 */
export function theUpstreamAgent(): Contestant | string {
  const missing = withoutUpstreamDirectorAgent();
  const programs = upstreamAgent();
  if (missing !== false || programs?.davcli === undefined) return String(missing);
  const { agent, monit, davcli } = programs;
  return {
    name: "upstream's agent",
    programs: [join(installed, 'bosh-agent'), join(installed, 'monit')],
    agent: async (directory) => {
      await copyFile(agent, join(directory, 'bosh-agent'));
      await copyFile(monit, join(directory, 'monit'));
      await copyFile(davcli, join(directory, 'bosh-blobstore-dav'));
      const request = { profile: 'sys-admin', version: '1', operatingSystem: 'host-root' } as const;
      const entries = await vmFiles({ ...request, ...programs, isOwnAgent: false });
      const settings = entries.filter(({ kind, name }) => kind === 'content' && name.startsWith('var/vcap/'));
      await packArchive(settings, join(directory, 'settings.tar'), { compression: 'none' });
      await writeStart(
        directory,
        // The first argument is `monit` if the VM's command of that name was called, with the path of a
        // socket
        `if [ "\${1:-}" = monit ]; then shift 2; exec ${installed}/monit "$@"; fi
if [ ! -e ${moved} ]; then
  tar -xf ${installed}/settings.tar -C /
  mkdir -p ${moved} /var/vcap/data/root_opt && mount --rbind ${installed} ${moved}
  ln -s ${moved} /var/vcap/data/root_opt/bosh-kubernetes
  mkdir /tmp/certs && cp -RP /etc/ssl/certs/. /tmp/certs
  mount -t tmpfs none /etc/ssl/certs && cp -RP /tmp/certs/. /etc/ssl/certs && : > /etc/ca-certificates.conf
fi
PATH=${installed}:$PATH
exec ${installed}/bosh-agent -P ubuntu -C /var/vcap/bosh/agent.json`,
      );
    },
  };
}

/**
 * Writes the program that the VMs of the embedded cluster run as Node. If its first argument is the agent's
 * bundle, the script runs instead, with the other arguments. The example's job runs with Node.
 */
async function writeStart(directory: string, script: string): Promise<void> {
  await copyFile(process.execPath, join(directory, 'real-node'));
  const path = join(directory, 'node');
  const node = `case "\${1:-}" in */agent.cjs) shift ;; *) exec ${installed}/real-node "$@" ;; esac`;
  await writeFile(path, `#!/bin/sh\n${node}\n${script}\n`);
  await chmod(path, 0o755);
}
