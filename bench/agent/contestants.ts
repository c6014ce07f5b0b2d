import { chmod, copyFile, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { vmFiles } from '../../src/stemcell/vm-files.ts';
import type { TestAgent } from '../../src/cpi/testing/agents.ts';
import { upstreamAgent, withoutUpstreamAgent } from '../../test/support/upstream-programs.ts';

/** An agent that is measured, with the programs that it consists of. */
export interface Contestant {
  readonly name: string;
  readonly agent: TestAgent;
  readonly programs: readonly string[];
}

/** The folder of a VM in which the files of a `TestAgent` are. */
const installed = '/opt/bosh-kubernetes';

/** Our agent as a stemcell has it. The embedded cluster has the bundle for Node instead. */
export const ourAgent = (executable: string): Contestant => ({
  name: 'this agent',
  programs: [join(installed, 'bosh-agent')],
  agent: async (directory) => {
    await copyFile(executable, join(directory, 'bosh-agent'));
    await writeStart(directory, `exec ${installed}/bosh-agent "$@"`);
  },
});

/** Upstream's agent with its monit and bosh-davcli; a sentence if variables do not name these programs. */
export function theUpstreamAgent(): Contestant | string {
  const { BOSH_DAVCLI: davcli = '' } = process.env;
  const upstream = upstreamAgent();
  if (upstream === undefined) return String(withoutUpstreamAgent());
  if (davcli === '') return 'needs bosh-davcli, with which that agent uses a blobstore: BOSH_DAVCLI=<path>';
  const programs = { ...upstream, davcli: resolve(davcli) };
  return {
    name: "upstream's agent",
    programs: [join(installed, 'bosh-agent'), join(installed, 'monit')],
    agent: async (directory) => {
      await copyFile(programs.agent, join(directory, 'bosh-agent'));
      await copyFile(programs.monit, join(directory, 'monit'));
      await copyFile(programs.davcli, join(directory, 'bosh-blobstore-dav'));
      await writeVmFiles(directory, programs);
      await writeStart(
        directory,
        // The first argument is `monit` if the VM's program of that name was called, with the path of a socket.
        `if [ "\${1:-}" = monit ]; then shift 2; exec ${installed}/monit "$@"; fi
cp -R ${installed}/root/. /
PATH=${installed}:$PATH
exec ${installed}/bosh-agent -P ubuntu -C /var/vcap/bosh/agent.json`,
      );
    },
  };
}

/** Writes the configuration that a stemcell with upstream's agent has. */
async function writeVmFiles(
  directory: string,
  programs: { readonly agent: string; readonly monit: string; readonly davcli: string },
): Promise<void> {
  const request = { profile: 'baseline', version: '1', operatingSystem: 'host-root', isOwnAgent: false } as const;
  for (const entry of await vmFiles({ ...request, ...programs })) {
    if (entry.kind !== 'content' || !entry.name.startsWith('var/vcap/bosh/')) continue;
    const path = join(directory, 'root', entry.name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, entry.content);
    await chmod(path, entry.mode);
  }
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
