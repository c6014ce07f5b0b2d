import { randomUUID } from 'node:crypto';
import { BundleCollection } from './apply/bundle-collection.ts';
import { LocalBlobs } from './blob/local-blobs.ts';
import { Blobs } from './blob/blobs.ts';
import { certificateAuthority } from './blob/dav-blobstore.ts';
import { openBlobstore } from './blob/open-blobstore.ts';
import type { RemoteBlobstore } from './blob/remote-blobstore.ts';
import { DnsRecordsFile } from './dns/dns-records-file.ts';
import { TrustedCertificates } from './settings/trusted-certificates.ts';
import type { UpdatedSettings } from './settings/updated-settings.ts';
import type { Clock } from '../platform/clock.ts';
import type { Directories } from './directories.ts';
import { copyDirectory } from './disk/copy-directory.ts';
import { DiskHints } from './disk/disk-hints.ts';
import type { MountTable } from './disk/mount-table.ts';
import { PersistentDisks } from './disk/persistent-disks.ts';
import { JobStarter } from './job-starter.ts';
import type { Log } from './log.ts';
import { JobSupervisor } from './monit/job-supervisor.ts';
import type { ServiceAlert } from './monit/service-alert.ts';
import type { Probes } from './monit/probes.ts';
import type { ProcessTable } from './process/process-table.ts';
import type { Programs } from './process/programs.ts';
import type { BlobstoreSettings, Settings } from './settings/settings.ts';
import { SpecFile } from './apply/spec.ts';
import { TaskQueue } from './task/task-queue.ts';
import type { Identities } from './user/identities.ts';
import { SshAccounts } from './user/ssh-accounts.ts';
import { readVitals } from './vitals/vitals.ts';

/** The parts of the machine that the agent uses. */
export interface AgentPorts {
  readonly clock: Clock;
  readonly log: Log;
  readonly programs: Programs;
  readonly table: ProcessTable;
  readonly probes: Probes;
  readonly mounts: MountTable;
  readonly identities: Identities;
  /** The VM's own address, for dynamic networks. */
  readonly ownAddress: () => Promise<string>;
  readonly hostname: string;
  readonly systemFiles: SystemFiles;
}

/** Files outside /var/vcap that the agent writes. */
export interface SystemFiles {
  /** `/etc/hosts`. */
  readonly hosts: string;
  /** The directory of additional CAs of the certificate store. */
  readonly trustedCertificates: string;
}

/** All services that the actions use. */
export interface AgentServices extends AgentPorts {
  readonly directories: Directories;
  readonly settings: Settings;
  readonly parallel: number;
  readonly blobs: Blobs;
  readonly updatedSettings: UpdatedSettings;
  readonly trustedCertificates: TrustedCertificates;
  readonly openBlobstore: (settings: BlobstoreSettings | undefined) => RemoteBlobstore | undefined;
  readonly dnsRecords: DnsRecordsFile;
  readonly bundles: BundleCollection;
  readonly specFile: SpecFile;
  readonly tasks: TaskQueue;
  readonly supervisor: JobSupervisor;
  readonly disks: PersistentDisks;
  readonly jobStart: JobStarter;
  readonly sshAccounts: SshAccounts;
  readonly vitals: () => Promise<Record<string, unknown>>;
}

/** A director may ask for the result of the last update_settings after a restart of the agent. */
const lastUpdate = ({ current }: UpdatedSettings): ReadonlyMap<string, unknown> =>
  new Map(current === undefined ? [] : [[current.taskId, 'ok']]);

/** Creates the services of one VM. Reads and writes nothing. */
export function agentServices(
  {
    settings,
    updatedSettings,
    alert,
  }: {
    readonly settings: Settings;
    readonly updatedSettings: UpdatedSettings;
    readonly alert: (alert: ServiceAlert) => void;
  },
  directories: Directories,
  ports: AgentPorts,
): AgentServices {
  const blobstore = (): BlobstoreSettings | undefined =>
    updatedSettings.current?.blobstore ?? settings.blobstore;
  const open: AgentServices['openBlobstore'] = (wanted) => openBlobstore(wanted, { ...ports, directories });
  const blobs = new Blobs({
    local: new LocalBlobs(directories.blobs),
    remote: () => open(blobstore()),
    ca: () => certificateAuthority(blobstore()?.options ?? {}),
    temporary: directories.temporary,
    clock: ports.clock,
  });
  const supervisor = new JobSupervisor({ ...ports, directories, alert });
  const hints = new DiskHints(directories, settings);
  const disks = new PersistentDisks({ ...ports, directories, hints, copy: copyDirectory });
  return {
    ...ports,
    directories,
    settings,
    parallel: settings.parallel,
    blobs,
    updatedSettings,
    openBlobstore: open,
    trustedCertificates: new TrustedCertificates({
      ...ports,
      directory: ports.systemFiles.trustedCertificates,
    }),
    dnsRecords: new DnsRecordsFile({
      ...{ ...ports, directories, blobs, agentId: settings.agentId },
      hostsPath: ports.systemFiles.hosts,
    }),
    bundles: new BundleCollection(directories, ports.identities),
    specFile: new SpecFile(directories),
    tasks: new TaskQueue({ newId: randomUUID, done: lastUpdate(updatedSettings) }),
    supervisor,
    disks,
    jobStart: new JobStarter({ ...ports, disks, supervisor }),
    sshAccounts: new SshAccounts({ ...ports, directories }),
    vitals: () => readVitals(directories, ports.mounts),
  };
}
