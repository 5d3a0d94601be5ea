/** The JSON schemas of everything that is sent or answered, from the very types that validate. */
import typia from 'typia';
import type { Receipt } from '../../shared/calls.js';
import type * as backup from './backup.js';
import type * as collections from './collections.js';
import type * as encrypted from './encrypted.js';
import type * as graph from './graph.js';
import type * as proofs from './proofs.js';
import type * as records from './records.js';
import type * as search from './search.js';
import type * as service from './service.js';
import type { JsonObject } from './values.js';

/** Every type that a route may name, under its own name. */
interface Named {
  BatchInsertRequest: records.BatchInsertRequest;
  BatchInsertResponse: records.BatchInsertResponse;
  BeginImportRequest: backup.BeginImportRequest;
  CheckpointResponse: proofs.CheckpointResponse;
  CollectionQuery: records.CollectionQuery;
  ConfigureIndexRequest: collections.ConfigureIndexRequest;
  ConsistencyQuery: proofs.ConsistencyQuery;
  ConsistencyResponse: proofs.ConsistencyResponse;
  CreateCollectionRequest: collections.CreateCollectionRequest;
  CreateCollectionResponse: collections.CreateCollectionResponse;
  CreateEdgeRequest: graph.CreateEdgeRequest;
  CreateEdgeResponse: graph.CreateEdgeResponse;
  CreateKeyRequest: service.CreateKeyRequest;
  CreateKeyResponse: service.CreateKeyResponse;
  CreateNodeRequest: graph.CreateNodeRequest;
  CreateNodeResponse: graph.CreateNodeResponse;
  DeleteResponse: records.DeleteResponse;
  EncryptedRecordResponse: encrypted.EncryptedRecordResponse;
  EdgesQuery: graph.EdgesQuery;
  EdgesResponse: graph.EdgesResponse;
  ErrorResponse: service.ErrorResponse;
  EventLogProofResponse: proofs.EventLogProofResponse;
  ExportLogQuery: backup.ExportLogQuery;
  ExportResponse: backup.ExportResponse;
  GraphQuery: graph.GraphQuery;
  GraphQueryResponse: graph.GraphQueryResponse;
  HealthResponse: service.HealthResponse;
  ImportResponse: backup.ImportResponse;
  InclusionQuery: proofs.InclusionQuery;
  InclusionResponse: proofs.InclusionResponse;
  IndexConfigResponse: collections.IndexConfigResponse;
  IndexState: collections.IndexState;
  InsertEncryptedRequest: encrypted.InsertEncryptedRequest;
  InsertEncryptedResponse: encrypted.InsertEncryptedResponse;
  InsertRequest: records.InsertRequest;
  InsertResponse: records.InsertResponse;
  JsonObject: JsonObject;
  KeyStatusResponse: encrypted.KeyStatusResponse;
  ListCollectionsResponse: collections.ListCollectionsResponse;
  ListKeysResponse: service.ListKeysResponse;
  MetadataResponse: records.MetadataResponse;
  MultiSearchRequest: search.MultiSearchRequest;
  MultiSearchResponse: search.MultiSearchResponse;
  NodeResponse: graph.NodeResponse;
  NodesQuery: graph.NodesQuery;
  NodesResponse: graph.NodesResponse;
  RateLimitedResponse: service.RateLimitedResponse;
  RebuildRequest: collections.RebuildRequest;
  RebuildResponse: collections.RebuildResponse;
  Receipt: Receipt;
  ReceiptQuery: proofs.ReceiptQuery;
  RecordReference: records.RecordReference;
  RecordResponse: records.RecordResponse;
  SearchRequest: search.SearchRequest;
  SearchResponse: search.SearchResponse;
  SigningKeysResponse: proofs.SigningKeysResponse;
  StateProofResponse: proofs.StateProofResponse;
  ShredResponse: encrypted.ShredResponse;
  SubgraphQuery: graph.SubgraphQuery;
  SubgraphResponse: graph.SubgraphResponse;
  TimelineQuery: proofs.TimelineQuery;
  TimelineResponse: proofs.TimelineResponse;
  UsageResponse: service.UsageResponse;
}

export type SchemaName = keyof Named;

/** An object schema, as far as the document builder looks into it. */
export interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly description?: string;
}

const { Named: _, ...components } = typia.json.schemas<[Named], '3.1'>().components.schemas as Record<string, Schema>;

/** By type name. */
export const schemas: Readonly<Record<string, Schema>> = components;
