import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { propertyDocs } from './property-docs.ts';

for (const [path, text] of propertyDocs()) await writeFile(join(import.meta.dirname, '..', path), text);
