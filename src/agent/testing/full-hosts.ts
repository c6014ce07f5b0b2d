// `full-hosts.ts BASE`: writes BASE/hosts, which is a mount of a full file system, from the DNS records of
// BASE.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../../platform/clock.ts';
import { LocalBlobs } from '../blob/local-blobs.ts';
import { Blobs } from '../blob/blobs.ts';
import { directoriesOf } from '../directories.ts';
import { DnsRecordsFile } from '../dns/dns-records-file.ts';
import { loadIdentities } from '../user/identities.ts';

const directories = directoriesOf(process.argv[2] ?? '');
await mkdir(join(directories.instance, 'dns'), { recursive: true });
const records = Array.from({ length: 5000 }, (_, index) => ['10.0.0.8', `name-${index}.bosh`]);
await writeFile(join(directories.instance, 'dns', 'records.json'), JSON.stringify({ records, version: 1 }));
const blobs = new Blobs({
  ...{ local: new LocalBlobs(directories.blobs), remote: () => undefined, ca: () => undefined },
  ...{ temporary: directories.temporary, clock: systemClock },
});
const file = new DnsRecordsFile({
  ...{ directories, blobs, identities: await loadIdentities(), agentId: 'agent-1', hostname: 'vm-1' },
  hostsPath: join(directories.base, 'hosts'),
});
await file.restore().catch((error: Error) => process.stdout.write(`${error.message}\n`));
