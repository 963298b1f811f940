import numpy as np

result = np.zeros((300000, 300000))
