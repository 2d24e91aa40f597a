"""What leaves the zoo: signatures, exporters, parity, and a runtime without Keras."""
