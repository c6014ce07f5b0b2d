import type { MonitSubject } from '../../bosh/monit/monit-service.ts';
import type { ProcessTable } from '../process/process-table.ts';
import { processOfPattern } from './matching-process.ts';
import { processOfPidFile } from './pid-file.ts';
import type { PidEvidence, PidFileReading } from './pid-file.ts';
import type { Probes } from './probes.ts';

/** Whether a service is up: a process lives, a file is there. A host always counts as up; its rules say more. */
export type ServiceReading = PidFileReading | { readonly live?: undefined; readonly problem?: undefined };

/** Looks whether a service is up: it is if there is no problem. */
export async function readService(
  subject: MonitSubject,
  { table, probes }: { readonly table: ProcessTable; readonly probes: Probes },
  evidence: PidEvidence,
): Promise<ServiceReading> {
  switch (subject.kind) {
    case 'pidfile':
      return processOfPidFile(subject.path, table, evidence);
    case 'matching':
      return processOfPattern(subject.pattern, table, evidence);
    case 'file': {
      const file = await probes.file(subject.path);
      return file === undefined ? { problem: `there is no file ${subject.path}` } : {};
    }
    case 'host':
      return {};
  }
}
