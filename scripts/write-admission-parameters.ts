import { writeFile } from 'node:fs/promises';
import { admissionParameters, manifestFolder } from './admission-parameters.ts';

await writeFile(new URL('parameters.yaml', manifestFolder), await admissionParameters());
