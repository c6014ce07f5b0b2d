// `full-hosts.ts BASE`: writes 5000 names into BASE/hosts, which is a mount of a full file system.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { systemClock } from '../../platform/clock.ts';
import { LocalBlobs } from '../blob/local-blobs.ts';
import { Blobs } from '../blob/blobs.ts';
import { directoriesOf } from '../directories.ts';
import { DnsRecordsFile } from '../dns/dns-records-file.ts';
import { loadIdentities } from '../user/identities.ts';
import { sha1 } from './archives.ts';

const directories = directoriesOf(process.argv[2] ?? '');
await mkdir(directories.blobs, { recursive: true });
const records = Array.from({ length: 5000 }, (_, index) => ['10.0.0.8', `name-${index}.bosh`]);
const content = Buffer.from(JSON.stringify({ records, version: 1 }));
const local = new LocalBlobs(directories.blobs);
await local.write('records', Readable.from([content]));
const blobs = new Blobs({
  ...{ local, remote: () => undefined, ca: () => undefined },
  ...{ temporary: directories.temporary, clock: systemClock },
});
const file = new DnsRecordsFile({
  ...{ directories, blobs, identities: await loadIdentities(), agentId: 'agent-1', hostname: 'vm-1' },
  hostsPath: join(directories.base, 'hosts'),
});
await file
  .sync({ blobId: 'records', digest: sha1(content) }, 1)
  .catch((error: Error) => process.stdout.write(`${error.message}\n`));
