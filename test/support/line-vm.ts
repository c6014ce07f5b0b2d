import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeArchive, sha256 } from '../../src/agent/testing/archives.ts';
import { emptySpec } from '../../src/agent/testing/specs.ts';
import type { AgentClient } from '../../src/bosh/agent-client/agent-client.ts';
import { createAgentClient } from '../../src/bosh/agent-client/create-agent-client.ts';
import { makeServerCertificate } from '../../src/bosh/testing/certificates.ts';
import { isProductError } from '../../src/errors/product-error.ts';
import { systemClock } from '../../src/platform/clock.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { persistentVolumeClaims, pods } from '../../src/kubernetes/resources.ts';
import { type EmbeddedEnvironment, mbusPassword, namespace } from './embedded-environment.ts';
import { until } from './until.ts';

export const stemcell = 'embedded.bosh-kubernetes/host-root:1';

/** A VM created by the CPI, with a client of its agent. */
export class LineVm {
  readonly cid: string;
  readonly address: string;
  readonly agent: AgentClient;
  readonly #line: EmbeddedEnvironment;

  private constructor(line: EmbeddedEnvironment, cid: string, address: string, agent: AgentClient) {
    this.#line = line;
    this.cid = cid;
    this.address = address;
    this.agent = agent;
  }

  /** Calls create_vm with that address, and waits for the agent. */
  static async create(line: EmbeddedEnvironment, address: string): Promise<LineVm> {
    const cert = await makeServerCertificate(address);
    const networks = {
      default: { type: 'manual', ip: address, netmask: '255.255.255.0', cloud_properties: {} },
    };
    const args = [randomUUID(), stemcell, {}, networks, [], { bosh: { mbus: { cert } } }];
    const result = await line.call('create_vm', ...args);
    const cid = (result as [string])[0];
    const mbusUrl = `https://mbus:${mbusPassword}@${address}:6868`;
    const agent = createAgentClient({ mbusUrl, ca: cert.ca, directorId: 'director-1', clock: systemClock });
    const vm = new LineVm(line, cid, address, agent);
    await vm.untilAgentAnswers();
    await agent.apply({ ...emptySpec, networks });
    return vm;
  }

  async untilAgentAnswers(): Promise<void> {
    await until(
      `the agent of ${this.cid}`,
      () =>
        this.agent.ping().then(
          () => true,
          (error: unknown) => {
            if (isProductError(error, 'AGENT_UNREACHABLE')) return false;
            throw error;
          },
        ),
      60_000,
    );
  }

  /** Calls create_disk and attach_disk; the agent mounts the disk at /var/vcap/store. */
  async newDisk(): Promise<string> {
    const disk = (await this.#line.call('create_disk', 64, {}, this.cid)) as string;
    await this.attach(disk);
    return disk;
  }

  async attach(disk: string): Promise<void> {
    const hint = await this.#line.call('attach_disk', this.cid, disk);
    await this.agent.addPersistentDisk(disk, hint);
    await this.agent.mountDisk(disk);
  }

  /** Applies and starts a job whose process appends numbered lines to /var/vcap/store/log (writer-job). */
  async startWriter(scratch: string): Promise<void> {
    const archive = await makeArchive(writerJob());
    const path = join(scratch, `${randomUUID()}.tgz`);
    await writeFile(path, archive);
    const blobstoreId = await this.agent.putBlob(path);
    await this.agent.apply({
      ...emptySpec,
      networks: { default: { type: 'manual', ip: this.address } },
      job: { name: 'writer', templates: [{ name: 'writer', version: '1', sha1: '', blobstore_id: '' }] },
      rendered_templates_archive: { blobstore_id: blobstoreId, sha1: sha256(archive) },
    });
    await this.agent.start();
    await until('a running writer', async () => (await this.agent.getState()).jobState === 'running');
  }

  /** Runs a shell command in the VM. Returns its output, or rejects if it fails. */
  async run(script: string): Promise<string> {
    const { exitCode, stdout, stderr } = await this.#line.exec(this.cid, script);
    assert.equal(exitCode, 0, `${script}: ${stdout}${stderr}`);
    return stdout;
  }

  async pod(): Promise<Pod> {
    return (await this.#line.api()).get<Pod>({ resource: pods, namespace, name: this.cid });
  }
}

/** Returns the directory in which the embedded node keeps the content of a disk. */
export async function volumeOf(line: EmbeddedEnvironment, disk: string): Promise<string> {
  const claim = await (
    await line.api()
  ).get<KubernetesObject & { spec: { volumeName?: string } }>({
    resource: persistentVolumeClaims,
    namespace,
    name: disk,
  });
  assert.ok(claim.spec.volumeName !== undefined);
  return join(line.clusterDirectory, 'volumes', claim.spec.volumeName);
}

/**
 * Returns the files of a job. `run` continues counting at the end of the log, and refuses to write if no disk
 * is mounted. Each start of it adds a line with a new id to /var/vcap/store/lives.
 */
function writerJob(): Record<string, string> {
  const pid = '/var/vcap/sys/run/writer/writer.pid';
  return {
    './writer/monit': `check process writer
  with pidfile ${pid}
  start program "/var/vcap/jobs/writer/bin/ctl start"
  stop program "/var/vcap/jobs/writer/bin/ctl stop"
  group vcap
`,
    './writer/bin/ctl': `#!/bin/sh
case "$1" in
  start)
    mkdir -p /var/vcap/sys/run/writer
    setsid sh -c 'echo $$ > ${pid}; exec /bin/sh /var/vcap/jobs/writer/bin/run' </dev/null >/dev/null 2>&1 &
    ;;
  stop) kill -9 "$(cat ${pid})"; rm -f ${pid} ;;
esac
`,
    './writer/bin/run': `#!/bin/sh
if ! mountpoint -q /var/vcap/store; then
  touch /var/vcap/data/started-without-its-disk
  exit 1
fi
cd /var/vcap/store
cat /proc/sys/kernel/random/uuid >> lives
n=$(wc -l < log 2>/dev/null || echo 0)
while :; do
  n=$((n + 1))
  echo "$n" >> log
  sleep 0.01
done
`,
  };
}
