// Writes src/api/schema.ts from the array's OpenAPI document.
//
// Operation ids are left out: the console needs the types of resources only, and ids of the document are not unique.

import { readFileSync, writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";

const document = JSON.parse(readFileSync(new URL("../../openapi/windlass.json", import.meta.url), "utf8"));
for (const item of Object.values(document.paths)) {
  for (const operation of Object.values(item)) delete operation.operationId;
}
const tree = await openapiTS(document, { rootTypes: true, rootTypesNoSchemaPrefix: true });
writeFileSync(new URL("../src/api/schema.ts", import.meta.url), astToString(tree));
