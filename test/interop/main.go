// Reads and cosigns a service log with the libraries of others.
//
//	interop check <prefix> <policy file> <proof file> <entry file>
//	interop witness <name> <verifier key of the log>
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"

	"filippo.io/torchwood"
	fnote "github.com/transparency-dev/formats/note"
	"github.com/transparency-dev/witness/persistence/inmemory"
	"github.com/transparency-dev/witness/witness"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func main() {
	log.SetFlags(0)
	switch os.Args[1] {
	case "check":
		check(os.Args[2], read(os.Args[3]), read(os.Args[4]), read(os.Args[5]))
	case "witness":
		serve(os.Args[2], os.Args[3])
	}
}

func read(file string) []byte {
	bytes, err := os.ReadFile(file)
	must(err)
	return bytes
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// check prints what each library has verified.
func check(prefix string, policyText, proof, entry []byte) {
	ctx := context.Background()
	response, err := http.Get(prefix + "/checkpoint")
	must(err)
	signed, err := io.ReadAll(response.Body)
	must(err)

	key := strings.Fields(string(policyText))[1]
	verifier, err := note.NewVerifier(key)
	must(err)
	opened, err := note.Open(signed, note.VerifierList(verifier))
	must(err)
	fmt.Printf("note: signed by %s\n", opened.Sigs[0].Name)

	policy, err := torchwood.ParsePolicy(policyText)
	must(err)
	checkpoint, _, err := torchwood.VerifyCheckpoint(signed, policy)
	must(err)
	fmt.Printf("torchwood: the policy holds for %d entries of %s\n", checkpoint.N, checkpoint.Origin)

	fetcher, err := torchwood.NewTileFetcher(prefix)
	must(err)
	client, err := torchwood.NewClient(fetcher)
	must(err)
	count := int64(0)
	for range client.AllEntries(ctx, checkpoint.Tree, 0) {
		count++
	}
	must(client.Err())
	fmt.Printf("torchwood: %d entries verify\n", count)

	hashes := torchwood.TileHashReaderWithContext(ctx, checkpoint.Tree, fetcher)
	for size := int64(1); size <= checkpoint.N; size++ {
		earlier, err := tlog.TreeHash(size, hashes)
		must(err)
		consistency, err := tlog.ProveTree(checkpoint.N, size, hashes)
		must(err)
		must(tlog.CheckTree(consistency, checkpoint.N, checkpoint.Hash, size, earlier))
	}
	fmt.Printf("tlog: the log goes on from each of its %d sizes\n", checkpoint.N)

	must(torchwood.VerifyProof(policy, tlog.RecordHash(entry), proof))
	fmt.Println("torchwood: the proof of the entry holds")
}

// serve runs a witness that keeps what it has seen in memory, and prints its verifier key and address.
func serve(name, logKey string) {
	secret, public, err := note.GenerateKey(rand.Reader, name)
	must(err)
	signer, err := fnote.NewSignerForCosignatureV1(secret)
	must(err)
	cosigner, err := fnote.VKeyToCosignatureV1(public)
	must(err)
	verifier, err := note.NewVerifier(logKey)
	must(err)
	w, err := witness.New(context.Background(), witness.Opts{
		Persistence: inmemory.New(),
		Signers:     []note.Signer{signer},
		VerifierForLog: func(_ context.Context, origin string) (note.Verifier, bool, error) {
			return verifier, origin == verifier.Name(), nil
		},
	})
	must(err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	fmt.Printf("witness %s %s http://%s\n", name, cosigner, listener.Addr())
	http.HandleFunc("POST /add-checkpoint", witness.NewHTTPHandler(w).AddCheckpoint)
	must(http.Serve(listener, nil))
}
